// Decimal numbers in text. Not by libc: with new headers, strtoul() and atoi() call functions of glibc 2.38, which a
// recorder that is copied to an older system would not find.
#pragma once

#include <charconv>
#include <string_view>

namespace cudadiag::record {

// The digits that `text` begins with; 0: none, or too many.
inline long leading_number(std::string_view text) {
  long number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace cudadiag::record
