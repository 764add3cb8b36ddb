// Computes facts about the arguments of a failed call. The rules' texts contain these facts.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "diagnose/causes/rule.h"
#include "diagnose/facts/location.h"

namespace cudadiag::causes {

// The largest index that a signed 32-bit number can hold.
constexpr std::uint64_t kMost32 = std::numeric_limits<std::int32_t>::max();

std::string text_of(const Number& number);
double real(const Number& number);
// Formats an index, such as "[0,77]"; empty for a scalar.
std::string subscript(const std::vector<std::int64_t>& index);
// Formats a size, such as "12.0 GiB".
std::string size_text(std::uint64_t bytes);
// Adds nothing if the location is unknown.
void add_place(Facts& facts, const char* name, const std::optional<diagnose::Location>& location,
               const std::string& directory);

// Adds who accessed the memory and how: the facts kernel ("scale()") and verb ("reads").
void add_who(const Case& failed, Facts& facts);

// Returns the number of elements that the argument spans in memory, from the first to the last. Returns nullopt if the
// shape is unknown, has no elements, or is too large to count.
std::optional<std::uint64_t> extent(const Argument& argument);
std::uint64_t item_size(std::string_view dtype);  // 0 if unknown

// Adds facts about the argument that has indices out of bounds. The facts are argument, at, value, bound, last and
// outside. Prefers the user's own variable to the operator's parameter. Returns false if no argument has such indices.
bool add_bad_index(const Case& failed, Facts& facts);
// Like add_bad_index(), for labels. Also adds the fact from_one, such as "labels from 1 to 10". A label equal to the
// call's ignore_index is not out of bounds.
bool add_bad_label(const Case& failed, Facts& facts);
// Adds facts about the first floating-point argument that contains NaN, infinity or a value outside 0..most. The facts
// are argument and values ("12 NaN", "min -0.5, max 3.25"). Returns false if no argument contains such a value.
bool add_bad_value(const Case& failed, Facts& facts, double most);

// Returns the function of torch/nn/functional.py that the true line called, such as "embedding"; empty if unknown.
std::string_view torch_function(const Case& failed);

}  // namespace cudadiag::causes
