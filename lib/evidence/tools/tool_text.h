// Pieces of the output of NVIDIA's tools: each is removed from the start of a text. Nothing: it is not there; the text
// may then have lost a part.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cudadiag::evidence {

// The longest name or sentence that is kept, in bytes.
inline constexpr std::size_t kLongestPart = 4096;

// Without blanks at the ends, and not longer than a name in a report may be.
std::string taken_part(std::string_view text);

// False: `text` does not start so.
bool take(std::string_view& text, std::string_view start);
// "0x7f21277a0a70"
std::optional<std::uint64_t> take_address(std::string_view& text);
// "(31,0,0)"
std::optional<std::array<std::uint32_t, 3>> take_dimensions(std::string_view& text);

}  // namespace cudadiag::evidence
