// The text for each value of an enumeration, in one table. Convert only where text is written or read; all other code
// compares values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace cudadiag::base {

template <typename Value, std::size_t size>
using Words = std::array<std::pair<Value, std::string_view>, size>;

// Returns `otherwise` for a value without a word.
template <typename Value, std::size_t size>
constexpr std::string_view word_of(const Words<Value, size>& words, Value value, std::string_view otherwise = "") {
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& each) { return each.first == value; });
  return found == words.end() ? otherwise : found->second;
}

// Returns nullopt if the table does not have the word.
template <typename Value, std::size_t size>
constexpr std::optional<Value> value_of(const Words<Value, size>& words, std::string_view word) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& each) { return each.second == word; });
  if (found == words.end()) return std::nullopt;
  return found->first;
}

}  // namespace cudadiag::base
