// The code between a place where threads may part, for a reason that is not known, and where they meet again. Internal
// to the room.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sass/code/flow.h"

namespace cudadiag::sass {

class Detours {
 public:
  // `program` must outlive this.
  explicit Detours(const Program& program);

  struct Detour {
    bool known = false;               // false: it calls functions that are not in this code, or jumps through a table
    std::vector<std::uint32_t> code;  // instructions that some threads may execute, any number of times
    std::uint32_t meets = kNone;      // where all that have not ended meet; kNone: nowhere
  };
  // From an instruction that some threads may leave otherwise than others. Null: all leave it alike.
  const Detour* from(std::uint32_t at) const {
    const auto known = detours_.find(at);
    return known == detours_.end() ? nullptr : &known->second;
  }

 private:
  std::vector<std::uint32_t> next_here(std::uint32_t at) const;
  std::vector<std::uint32_t> meeting_points() const;
  Detour found(std::uint32_t at, std::uint32_t meets) const;

  const Program& program_;
  std::map<std::uint32_t, Detour> detours_;  // of all instructions with several that may follow
};

}  // namespace cudadiag::sass
