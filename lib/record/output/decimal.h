// Parses decimal numbers without libc's strtoul() and atoi(). New glibc headers redirect these functions to versions
// that only glibc 2.38 and later provide. The recorder could then not be loaded on an older system.
#pragma once

#include <charconv>
#include <string_view>

namespace cudadiag::record {

// Returns the number at the beginning of `text`; 0 if there is none, or if it is too large.
inline long leading_number(std::string_view text) {
  long number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace cudadiag::record
