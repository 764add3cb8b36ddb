// Text from the target on its way to a terminal: made harmless, measured and cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cudadiag::base {

// `raw` with every character spelled out that a terminal could obey. Control characters become `\x1b`, line breaks
// `\n`, C1 and bidirectional controls `\u202e`, bytes that are not UTF-8 `\xff`. Tabs become a space. The result is one
// line of valid UTF-8.
std::string printable(std::string_view raw);

// The number of characters of valid UTF-8 text; each counts as one column.
std::size_t width(std::string_view text);

// The first `columns` of valid UTF-8 text, ending in "..." if something was cut.
std::string clip(std::string_view text, std::size_t columns);

}  // namespace cudadiag::base
