// Finds the registers and predicates that an instruction may write. Internal to lib/sass.
#pragma once

#include <cstdint>

#include "sass/code/lines.h"

namespace cudadiag::sass {

// A number for each register (lines.h) and each predicate: P0..P15, then UP0..UP15.
using Slot = std::uint32_t;
inline constexpr Slot kFirstPredicate = 1024, kFirstUniformPredicate = kFirstPredicate + 16;

// Returns the slot of "P3" or "!UP1"; kNone for PT, UPT and everything that is not a predicate.
Slot predicate_slot(std::string_view operand);
constexpr bool is_predicate_slot(Slot slot) { return slot >= kFirstPredicate; }
constexpr bool is_uniform_slot(Slot slot) {
  return slot >= kFirstUniformPredicate || (slot >= kUniform && slot < kStack);
}

struct Written {
  std::uint32_t first = kNone, count = 0;  // `first` is kNone if no register is written
  std::uint32_t second = kNone;            // first of 8 more registers; kNone if there are none
  std::uint32_t predicates = 0;            // one bit per predicate
  bool everything = false;

  bool has(Slot slot) const;
};

// Returns how many registers are written, starting with the first result; 0 if the first operand is not a result.
std::uint32_t width_of_result(const Instruction& i);
Written written_by(const Instruction& i);
// Returns the index of the first operand that is not a predicate.
std::size_t first_value(const Instruction& i);

}  // namespace cudadiag::sass
