// Computes the result of an instruction from known operands; integers only. Internal to the room.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "sass/code/lines.h"

namespace cudadiag::sass {

// An instruction's operands by their part in it.
struct Parts {
  std::vector<std::string_view> results;     // predicates in front of the destination
  std::string_view destination;              // empty: predicates alone are set
  std::vector<std::string_view> carries;     // that it sets
  std::vector<std::string_view> values;      // that it reads, conditions apart
  std::vector<std::string_view> conditions;  // carries and choices that it reads
};
Parts parts_of(const Instruction& i);

// How operands get their values: nothing where they are not known.
struct Operands {
  std::function<std::optional<std::uint32_t>(std::string_view operand, std::uint32_t half)> word;
  std::function<std::optional<bool>(std::string_view predicate)> truth;
};

// Returns half of the 64 bits of a numeric operand; nothing for other operands.
std::optional<std::uint32_t> immediate(std::string_view operand, std::uint32_t half);

enum class Known { opcode, nothing };  // nothing: an opcode that is not modelled

struct Computed {
  Known known = Known::opcode;
  std::optional<std::uint32_t> word;
};
// The `half`th register that it writes.
Computed compute_word(const Instruction& i, std::uint32_t half, const Operands& operands);
// A predicate that it sets: a carry, or the result of a comparison.
std::optional<bool> compute_predicate(const Instruction& i, std::string_view predicate, const Operands& operands);

}  // namespace cudadiag::sass
