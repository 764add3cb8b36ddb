// Makes text from users' files and programs safe to print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cudadiag::symbolize {

// Returns valid UTF-8 of at most `limit` bytes, cut between characters, with tabs expanded to multiples of four
// columns. Replaces unsafe characters with '?': control characters (C0, DEL, C1), zero-width characters, direction
// marks, line separators, and bytes that are not UTF-8.
std::string plain_text(std::string_view text, std::size_t limit);

}  // namespace cudadiag::symbolize
