// Tables that map the values of an enumeration to text. Use them only where text is written or read. All other code
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

// Returns `otherwise` if the table has no word for the value.
template <typename Value, std::size_t size>
constexpr std::string_view word_of(const Words<Value, size>& words, Value value, std::string_view otherwise = "") {
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& each) { return each.first == value; });
  return found == words.end() ? otherwise : found->second;
}

// Returns nullopt if the table does not contain the word.
template <typename Value, std::size_t size>
constexpr std::optional<Value> value_of(const Words<Value, size>& words, std::string_view word) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& each) { return each.second == word; });
  if (found == words.end()) return std::nullopt;
  return found->first;
}

}  // namespace cudadiag::base
