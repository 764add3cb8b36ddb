// The report of a child process on the launch that it repeats. The child writes a line after each step, so that its
// parent can tell how far the child got if it crashed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cudadiag::replay {

struct Answer {
  std::string cannot;                            // why a step failed; empty if none did
  std::string gpu;                               // PCI bus id of the GPU; empty if unknown
  bool launching = false;                        // all steps before the launch are done
  std::optional<std::uint32_t> refused;          // the error that the launch call returned, if any
  std::optional<std::uint32_t> result;           // the error that waiting for the launch returned
  std::uint64_t placed = 0, placeable = 0;       // blocks at their old addresses, and blocks in all
  std::uint64_t rewritten = 0;                   // how many pointers in memory were rewritten
  bool only_reached = false;                     // memory that nothing points to was omitted for lack of room
  bool outputs = false;                          // the outputs have been written
  std::map<std::uint64_t, std::uint64_t> moved;  // new addresses by block index
};

Answer read_answer(std::string_view text);

}  // namespace cudadiag::replay
