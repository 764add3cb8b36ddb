// Trims characters from both ends of a string.
#pragma once

#include <cstddef>
#include <string_view>

namespace cudadiag::base {

// Strips every leading and trailing character that occurs in `margin`.
inline std::string_view trimmed(std::string_view text, std::string_view margin = " ") {
  const std::size_t first = text.find_first_not_of(margin);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(margin) - first + 1);
}

}  // namespace cudadiag::base
