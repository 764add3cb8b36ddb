// Facts that the values of the arguments prove, for the texts of rules.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "diagnose/causes/rule.h"
#include "diagnose/facts/location.h"

namespace cudadiag::causes {

// The largest index of 32 bits.
constexpr std::uint64_t kMost32 = std::numeric_limits<std::int32_t>::max();

std::string text_of(const Number& number);
double real(const Number& number);
// "[0,77]"; empty for a scalar.
std::string subscript(const std::vector<std::int64_t>& index);
// "12.0 GiB"
std::string size_text(std::uint64_t bytes);
// Returns nothing if the place is not known.
void add_place(Facts& facts, const char* name, const std::optional<diagnose::Location>& location,
               const std::string& directory);

// Elements that lie between the first and the last one in memory, both included; nothing if a shape is not known.
std::optional<std::uint64_t> extent(const Argument& argument);
std::uint64_t item_size(std::string_view dtype);  // 0: not known

// Facts of the argument with indices outside of their bound: argument, at, value, bound, last, outside. The user's
// own variable is preferred to the operator's parameter. False if there is none.
bool add_bad_index(const Symptoms& symptoms, Facts& facts);
// The same for labels, and from_one: "labels from 1 to 10". The call's own ignore_index is not among those outside.
bool add_bad_label(const Symptoms& symptoms, Facts& facts);
// Facts of the first floating-point argument that holds NaN, infinity or a value outside low..high: argument and
// values ("12 NaN", "min -0.5, max 3.25"). False if there is none.
bool add_bad_value(const Symptoms& symptoms, Facts& facts, double low, double high);

// The PyTorch function that the true line led to: "embedding" of torch/nn/functional.py; empty: not known.
std::string_view torch_function(const Symptoms& symptoms);

}  // namespace cudadiag::causes
