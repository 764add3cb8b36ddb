// Prepares text from the target for a terminal: escapes, measures and clips it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cudadiag::base {

// Returns `raw` with an escape sequence in place of every character that a terminal could interpret. Line breaks become
// `\n`, other control characters `\x1b` and the like, and C1 and bidirectional controls `\u202e` and the like. Bytes
// that are not UTF-8 become `\xff` and the like, and tabs become spaces. The result is one line of valid UTF-8.
std::string printable(std::string_view raw);

// The number of characters of valid UTF-8 text; each counts as one column.
std::size_t width(std::string_view text);

// Cuts valid UTF-8 text to at most `columns`. The result ends in "..." if anything was cut.
std::string clip(std::string_view text, std::size_t columns);

}  // namespace cudadiag::base
