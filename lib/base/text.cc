#include "base/text.h"

#include <fmt/core.h>

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
    const auto value = whole_number<unsigned>(digits.substr(0, 2), 16);
    if (!value) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(*value));
  }
  return bytes;
}

namespace {

constexpr bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t character = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[i])) return {};
    character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xd800 && character <= 0xdfff;
  if (character < kSmallest[bytes] || character > 0x10ffff || surrogate) return {};
  return {character, bytes};
}

namespace {

// Returns true if the character could make a terminal move the cursor, start an escape sequence or reorder the text.
bool obeyed(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe007f);
}

std::string spelled(std::uint32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return " ";
  if (c < 0x80) return fmt::format("\\x{:02x}", c);
  return c > 0xffff ? fmt::format("\\U{:08x}", c) : fmt::format("\\u{:04x}", c);
}

}  // namespace

std::string printable(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  while (!raw.empty()) {
    const Character next = first_character(raw);
    if (next.bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(raw[0]));
    } else if (obeyed(next.code)) {
      out += spelled(next.code);
    } else {
      out += raw.substr(0, next.bytes);
    }
    raw.remove_prefix(next.bytes == 0 ? 1 : next.bytes);
  }
  return out;
}

std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  for (char c : text) columns += is_continuation(c) ? 0 : 1;
  return columns;
}

std::string clip(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  const std::size_t kept = columns > 3 ? columns - 3 : 0;
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    if (!is_continuation(text[at]) && seen++ == kept) break;
  }
  return std::string(text.substr(0, at)) + std::string("...").substr(0, columns);
}

}  // namespace cudadiag::base
