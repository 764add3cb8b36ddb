// Writes a .tar.gz without times and owners, so that equal contents give equal bytes.
#pragma once

#include <string>
#include <vector>

namespace cudadiag::command {

struct TarEntry {
  std::string name;  // at most 100 bytes
  std::string content;
  std::string source{};  // shown in the list for the user; not packed
};

// Returns "" if zlib failed.
std::string tarball(const std::vector<TarEntry>& entries);

}  // namespace cudadiag::command
