// Finds the code that threads may execute between a possible divergence and the place where they meet again. Internal
// to lib/sass.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sass/flow.h"

namespace cudadiag::sass {

class Detours {
 public:
  // `program` must outlive this object.
  explicit Detours(const Program& program);

  struct Detour {
    bool known = false;               // false if the code calls functions outside this program, or jumps through a
                                      // table
    std::vector<std::uint32_t> code;  // instructions that some threads may execute, any number of times
    std::uint32_t meets = kNone;      // where all threads that have not exited meet; kNone if they never do
  };
  // Returns the detour that begins at an instruction where threads may diverge. Returns null if all threads continue at
  // the same instruction.
  const Detour* from(std::uint32_t at) const {
    const auto known = detours_.find(at);
    return known == detours_.end() ? nullptr : &known->second;
  }

 private:
  std::vector<std::uint32_t> next_here(std::uint32_t at) const;
  std::vector<std::uint32_t> meeting_points() const;
  Detour found(std::uint32_t at, std::uint32_t meets) const;

  const Program& program_;
  std::map<std::uint32_t, Detour> detours_;  // keyed by instructions with several successors
};

}  // namespace cudadiag::sass
