// Writes a .tar.gz whose bytes depend only on its contents: it has no times and no owners.
#pragma once

#include <string>
#include <vector>

namespace cudadiag::command {

struct TarEntry {
  std::string name;  // at most 100 bytes
  std::string content;
  std::string source{};  // for the list that the user sees; not packed
};

// Returns "" if zlib failed.
std::string tarball(const std::vector<TarEntry>& entries);

}  // namespace cudadiag::command
