// Text from the target on its way to a terminal: made harmless, measured and cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cudadiag::base {

// `raw` with everything spelled out that a terminal could obey: control characters as `\x1b`, line breaks as `\n`, C1
// and bidirectional controls as `\u202e`, bytes that are not UTF-8 as `\xff`. Tabs become a space. The result is one
// line of valid UTF-8.
std::string printable(std::string_view raw);

// Characters of valid UTF-8 text; each counts as one column.
std::size_t width(std::string_view text);

// The first `columns` of valid UTF-8 text, ending in "..." where something was cut.
std::string clip(std::string_view text, std::size_t columns);

}  // namespace cudadiag::base
