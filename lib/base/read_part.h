// Reads a part of a file without moving its file offset.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>

namespace cudadiag::base {

// Returns `size` bytes at offset `from`, or fewer if the file ends early or a read fails.
inline std::string read_part(int file, std::uint64_t from, std::uint64_t size) {
  std::string text(size, '\0');
  std::uint64_t done = 0;
  while (done < size) {
    const ssize_t count = ::pread(file, text.data() + done, size - done, static_cast<off_t>(from + done));
    if (count <= 0) break;
    done += static_cast<std::uint64_t>(count);
  }
  text.resize(done);
  return text;
}

}  // namespace cudadiag::base
