// The report of a child process on the launch that it makes. The child writes a line for each step, so that its parent
// knows how far it got if it crashes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cudadiag::replay {

struct Answer {
  std::string cannot;                            // why the launch could not be made; empty if it could
  std::string gpu;                               // PCI bus id of the GPU; empty if unknown
  bool launching = false;                        // all steps before the launch are done
  std::optional<std::uint32_t> refused;          // error of the launch call, if it was refused
  std::optional<std::uint32_t> result;           // result of the wait for the launch
  std::uint64_t placed = 0, placeable = 0;       // blocks at their old addresses; all blocks
  std::uint64_t rewritten = 0;                   // pointers in memory that were rewritten
  bool only_reached = false;                     // memory that nothing points to was left out for lack of room
  bool outputs = false;                          // the outputs are written
  std::map<std::uint64_t, std::uint64_t> moved;  // new addresses, by index of the block
};

Answer read_answer(std::string_view text);

}  // namespace cudadiag::replay
