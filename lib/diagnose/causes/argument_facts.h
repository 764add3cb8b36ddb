// Facts for the texts of rules. The values of the arguments prove them.
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
// Returns "[0,77]"; empty for a scalar.
std::string subscript(const std::vector<std::int64_t>& index);
// Returns "12.0 GiB".
std::string size_text(std::uint64_t bytes);
// Adds nothing if the location is unknown.
void add_place(Facts& facts, const char* name, const std::optional<diagnose::Location>& location,
               const std::string& directory);

// Returns how many elements the argument spans in memory, from its first to its last one. Returns nullopt if the shape
// is unknown.
std::optional<std::uint64_t> extent(const Argument& argument);
std::uint64_t item_size(std::string_view dtype);  // 0 if unknown

// Adds facts about the argument that has indices out of bounds: argument, at, value, bound, last, outside. Prefers the
// user's own variable to the operator's parameter. Returns false if no argument has such indices.
bool add_bad_index(const Symptoms& symptoms, Facts& facts);
// Like add_bad_index(), for labels. Also adds from_one: "labels from 1 to 10". The call's ignore_index does not count
// as out of bounds.
bool add_bad_label(const Symptoms& symptoms, Facts& facts);
// Adds facts about the first floating-point argument that has NaN, infinity or a value outside low..high: argument and
// values ("12 NaN", "min -0.5, max 3.25"). Returns false if there is none.
bool add_bad_value(const Symptoms& symptoms, Facts& facts, double low, double high);

// Returns the function of torch/nn/functional.py that the true line called, such as "embedding"; empty if unknown.
std::string_view torch_function(const Symptoms& symptoms);

}  // namespace cudadiag::causes
