// Decimal numbers in text. libc's strtoul() and atoi() are not used: with new headers, they call functions of glibc
// 2.38. A recorder copied to an older system would not find those.
#pragma once

#include <charconv>
#include <string_view>

namespace cudadiag::record {

// The number that `text` begins with; 0 if it begins with none or overflows.
inline long leading_number(std::string_view text) {
  long number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace cudadiag::record
