// Computes the result of an integer instruction whose operands are known. Internal to lib/sass.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "sass/code/lines.h"

namespace cudadiag::sass {

// An instruction's operands, sorted by role.
struct Parts {
  std::vector<std::string_view> results;     // predicates in front of the destination
  std::string_view destination;              // empty if the instruction sets only predicates
  std::vector<std::string_view> carries;     // carry predicates that it sets
  std::vector<std::string_view> values;      // operands that it reads, except conditions
  std::vector<std::string_view> conditions;  // predicates that it reads, as carries or to choose between operands
};
Parts parts_of(const Instruction& i);

// Supplies the values of operands. Both functions return nullopt for unknown values.
struct Operands {
  std::function<std::optional<std::uint32_t>(std::string_view operand, std::uint32_t half)> word;
  std::function<std::optional<bool>(std::string_view predicate)> truth;
};

// Returns one 32-bit half of a numeric operand's 64 bits.
std::optional<std::uint32_t> immediate(std::string_view operand, std::uint32_t half);

enum class Known { opcode, nothing };  // nothing: the opcode is not modelled

struct Computed {
  Known known = Known::opcode;
  std::optional<std::uint32_t> word;
};
// Computes one of the registers that the instruction writes; `half` is its index.
Computed compute_word(const Instruction& i, std::uint32_t half, const Operands& operands);
// Computes a predicate that the instruction sets: a carry, or the result of a comparison.
std::optional<bool> compute_predicate(const Instruction& i, std::string_view predicate, const Operands& operands);

}  // namespace cudadiag::sass
