// Reads numbers from text, and writes large numbers.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

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

}  // namespace cudadiag::base
