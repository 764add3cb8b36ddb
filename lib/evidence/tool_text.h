// Small readers of text that tools print.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cudadiag::evidence {

// In bytes. Longer names and sentences are truncated.
inline constexpr std::size_t kLongestPart = 4096;

// Trims blanks, and truncates the text to kLongestPart bytes.
std::string taken_part(std::string_view text);

// Returns false if `text` does not start with `start`.
bool take(std::string_view& text, std::string_view start);
// Takes "0x7f21277a0a70".
std::optional<std::uint64_t> take_address(std::string_view& text);
// Takes "(31,0,0)".
std::optional<std::array<std::uint32_t, 3>> take_dimensions(std::string_view& text);

}  // namespace cudadiag::evidence
