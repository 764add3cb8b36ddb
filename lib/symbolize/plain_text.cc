#include "symbolize/plain_text.h"

#include <cstdint>

namespace cudadiag::symbolize {
namespace {

constexpr std::size_t kTabStop = 4;

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Returns the first character of `text`, which must not be empty. Rejects overlong forms, surrogates and stray bytes.
Character first_character(std::string_view text) {
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kSmallest[bytes] || surrogate || code > 0x10ffff) return {};
  return {code, bytes, true};
}

bool is_harmless(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return false;
  if (code == 0x061c || code == 0xfeff) return false;  // direction mark, zero-width no-break space
  if (code >= 0x200b && code <= 0x200f) return false;  // zero-width characters, direction marks
  if (code >= 0x2028 && code <= 0x202e) return false;  // separators, direction embeddings and overrides
  return !(code >= 0x2060 && code <= 0x206f);          // invisible operators, direction isolates
}

}  // namespace

std::string plain_text(std::string_view text, std::size_t limit) {
  std::string plain;
  std::size_t column = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    std::string_view piece = text.substr(0, character.bytes);
    std::size_t width = 1;
    if (character.valid && character.code == '\t') {
      width = kTabStop - column % kTabStop;
      piece = std::string_view("    ").substr(0, width);
    } else if (!character.valid || !is_harmless(character.code)) {
      piece = "?";
    }
    if (plain.size() + piece.size() > limit) break;
    plain += piece;
    column += width;
    text.remove_prefix(character.bytes);
  }
  return plain;
}

}  // namespace cudadiag::symbolize
