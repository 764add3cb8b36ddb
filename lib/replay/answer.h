// The words of a child process about the launch that it makes: a line for each step, so that one that crashes has said
// how far it got.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cudadiag::replay {

struct Answer {
  std::string cannot;                            // why the launch could not be made; empty: it could
  bool launching = false;                        // everything before the launch is done
  std::optional<std::uint32_t> refused;          // by this error
  std::optional<std::uint32_t> result;           // after waiting for it
  std::uint64_t placed = 0, placeable = 0;       // blocks that lie where they did; all
  std::uint64_t rewritten = 0;                   // pointers in memory
  bool only_reached = false;                     // there was no room for the memory that nothing points to
  bool outputs = false;                          // they are written
  std::map<std::uint64_t, std::uint64_t> moved;  // blocks by index: their new addresses
};

Answer read_answer(std::string_view text);

}  // namespace cudadiag::replay
