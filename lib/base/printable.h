// Prepares text from the target program for a terminal: escapes, measures and clips it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cudadiag::base {

// Escapes every character that a terminal could interpret. Line breaks become `\n`, other control characters `\x1b`, C1
// and bidirectional controls `\u202e`, and invalid UTF-8 `\xff`. Replaces tabs with spaces. The result is one line of
// valid UTF-8.
std::string printable(std::string_view raw);

// Returns the width of valid UTF-8 text, assuming that each character takes one column.
std::size_t width(std::string_view text);

// Cuts valid UTF-8 text to at most `columns`. The result ends in "..." if anything was cut.
std::string clip(std::string_view text, std::size_t columns);

}  // namespace cudadiag::base
