// Text from the user's files and programs, made safe to print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cudadiag::symbolize {

// Valid UTF-8 of at most `limit` bytes, cut between characters, tabs expanded to multiples of four columns. '?' stands
// for what could drive or deceive a terminal: control characters (C0, DEL, C1), marks that turn the reading direction
// or hide, line separators, and bytes that are no UTF-8.
std::string plain_text(std::string_view text, std::size_t limit);

}  // namespace cudadiag::symbolize
