// Registers and predicates that an instruction writes, or more. Internal to the room.
#pragma once

#include <cstdint>

#include "sass/code/lines.h"

namespace cudadiag::sass {

// One place for each register (lines.h) and each predicate: P0..P15, then UP0..UP15.
using Slot = std::uint32_t;
inline constexpr Slot kFirstPredicate = 1024, kFirstUniformPredicate = kFirstPredicate + 16;

// The number of "P3" or "!UP1"; kNone for PT, UPT and anything that is not a predicate.
Slot predicate_slot(std::string_view operand);
constexpr bool is_predicate_slot(Slot slot) { return slot >= kFirstPredicate; }
constexpr bool is_uniform_slot(Slot slot) {
  return slot >= kFirstUniformPredicate || (slot >= kUniform && slot < kStack);
}

struct Written {
  std::uint32_t first = kNone, count = 0;  // registers; kNone: none
  std::uint32_t second = kNone;            // 8 more from here on
  std::uint32_t predicates = 0;            // a bit for each
  bool everything = false;

  bool has(Slot slot) const;
};

// The registers from the first result on; 0: the first operand is not a result.
std::uint32_t width_of_result(const Instruction& i);
Written written_by(const Instruction& i);
// The index of the first operand that is not a condition.
std::size_t first_value(const Instruction& i);

}  // namespace cudadiag::sass
