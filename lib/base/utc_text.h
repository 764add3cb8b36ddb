// Writes times as text.
#pragma once

#include <ctime>
#include <string>

namespace cudadiag::base {

// Writes a time in UTC, in a format of strftime(). Returns "" if the year is too large.
inline std::string utc_text(std::time_t time, const char* format) {
  std::tm parts{};
  char text[32] = "";
  if (::gmtime_r(&time, &parts) != nullptr) std::strftime(text, sizeof text, format, &parts);
  return text;
}

}  // namespace cudadiag::base
