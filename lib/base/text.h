// Converts between text and numbers, times, bytes, words of enumerations, and C strings. Makes untrusted text
// printable, and demangles C++ names.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cudadiag::base {

// Returns nullopt if the text is anything but a number, even if it only has a blank or a "+" before the digits, and if
// the number does not fit.
template <typename Number>
std::optional<Number> whole_number(std::string_view text, int base = 10) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

// Removes a number and the character `end` after it from the start of `text`. If they are missing, returns false and
// leaves `text` as it is.
template <typename Number>
bool take_number(std::string_view& text, Number& number, char end) {
  const std::size_t size = text.find(end);
  const auto taken = size == text.npos ? std::nullopt : whole_number<Number>(text.substr(0, size));
  if (!taken) return false;
  number = *taken;
  text.remove_prefix(size + 1);
  return true;
}

// Formats a number with separators, such as "12,345".
inline std::string thousands(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

// Strips every leading and trailing character that occurs in `margin`.
inline std::string_view trimmed(std::string_view text, std::string_view margin = " ") {
  const std::size_t first = text.find_first_not_of(margin);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(margin) - first + 1);
}

// Returns the last part of a path.
inline std::string file_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

// Writes a time in UTC, in a format of strftime(). Returns "" if the year is too large.
inline std::string utc_text(std::time_t time, const char* format) {
  std::tm parts{};
  char text[32] = "";
  if (::gmtime_r(&time, &parts) != nullptr) std::strftime(text, sizeof text, format, &parts);
  return text;
}

// Writes bytes as hexadecimal text, two lowercase digits each.
std::string hex_of(std::span<const std::byte> bytes);

// Reads hexadecimal text with digits of both cases. Returns nullopt for any other text.
std::optional<std::vector<std::byte>> bytes_of_hex(std::string_view digits);

// Tables that map the values of an enumeration to text. Use them only where text is written or read. All other code
// compares values.
template <typename Value, std::size_t size>
using Words = std::array<std::pair<Value, std::string_view>, size>;

// Returns `otherwise` if the table has no word for the value.
template <typename Value, std::size_t size>
constexpr std::string_view word_of(const Words<Value, size>& words, Value value, std::string_view otherwise = "") {
  const auto found = std::ranges::find_if(words, [&](const auto& each) { return each.first == value; });
  return found == words.end() ? otherwise : found->second;
}

// Returns nullopt if the table does not contain the word.
template <typename Value, std::size_t size>
constexpr std::optional<Value> value_of(const Words<Value, size>& words, std::string_view word) {
  const auto found = std::ranges::find_if(words, [&](const auto& each) { return each.second == word; });
  if (found == words.end()) return std::nullopt;
  return found->first;
}

// Returns pointers to the strings, and a null pointer at the end, for functions such as execve(). The pointers are
// valid as long as the strings.
inline std::vector<char*> c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

inline std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0 if the bytes are not valid UTF-8
};
// Decodes the character at the start of `text`, which must not be empty. Overlong forms, surrogates and values past
// U+10FFFF are invalid.
Character first_character(std::string_view text);

// Escapes every character of the target program's text that a terminal could interpret. Line breaks become `\n`, other
// control characters `\x1b`, C1 and bidirectional controls `\u202e`, and invalid UTF-8 `\xff`. Replaces tabs with
// spaces. The result is one line of valid UTF-8.
std::string printable(std::string_view raw);

// Returns the width of valid UTF-8 text, assuming that each character takes one column.
std::size_t width(std::string_view text);

// Cuts valid UTF-8 text to at most `columns`. The result ends in "..." if anything was cut.
std::string clip(std::string_view text, std::size_t columns);

// ---- demangle.cc

// Demangles the name of a C++ function: returns `deep(int*, int)` for `_Z4deepPii`. Returns the name unchanged if it is
// not mangled, or if the result would be too long. The files that contain these names are not trusted.
std::string demangle(std::string_view mangled);

// Strips the suffixes that optimisers add: returns `_Z4fillPii` for `_Z4fillPii.cold`, `step` for `step.part.0`.
std::string_view without_clone_suffix(std::string_view symbol);

}  // namespace cudadiag::base
