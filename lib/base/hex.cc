#include "base/hex.h"

#include <charconv>
#include <system_error>

namespace cudadiag::base {

std::string hex_of(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

std::optional<std::vector<std::byte>> bytes_of_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(digits.size() / 2);
  for (; !digits.empty(); digits.remove_prefix(2)) {
    unsigned value = 0;
    const char* end = digits.data() + 2;
    if (const auto read = std::from_chars(digits.data(), end, value, 16); read.ec != std::errc() || read.ptr != end) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

}  // namespace cudadiag::base
