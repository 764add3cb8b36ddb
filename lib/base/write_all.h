// Writes a whole string to a file descriptor, and retries interrupted and partial writes.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

namespace cudadiag::base {

// Writes all of `text` to a file descriptor. On failure, returns false with errno set.
inline bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace cudadiag::base
