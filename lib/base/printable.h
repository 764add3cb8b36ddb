// Prepares the target's text for a terminal: escapes, measures and clips it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cudadiag::base {

// Returns `raw` with every character escaped that a terminal could interpret: line breaks as `\n`, other control
// characters as in `\x1b`, C1 and bidirectional controls as in `\u202e`, and invalid UTF-8 as in `\xff`. Tabs become
// spaces. The result is one line of valid UTF-8.
std::string printable(std::string_view raw);

// Returns how many columns valid UTF-8 text takes, at one column per character.
std::size_t width(std::string_view text);

// Cuts valid UTF-8 text to at most `columns`. The result ends in "..." if anything was cut.
std::string clip(std::string_view text, std::size_t columns);

}  // namespace cudadiag::base
