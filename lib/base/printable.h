// Prepares text from the target for a terminal: escapes, measures and clips it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cudadiag::base {

// Returns `raw` with an escape sequence in place of every character that a terminal could interpret: `\n` for a line
// break, `\x1b` and the like for other control characters, `\u202e` and the like for C1 and bidirectional controls,
// `\xff` and the like for bytes that are not UTF-8. A tab becomes a space. The result is one line of valid UTF-8.
std::string printable(std::string_view raw);

// The number of characters of valid UTF-8 text; each counts as one column.
std::size_t width(std::string_view text);

// Cuts valid UTF-8 text to at most `columns`. The result ends in "..." if anything was cut.
std::string clip(std::string_view text, std::size_t columns);

}  // namespace cudadiag::base
