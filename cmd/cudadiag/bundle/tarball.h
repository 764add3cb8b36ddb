// A .tar.gz whose bytes depend only on its contents: it stores no times and no owners.
#pragma once

#include <string>
#include <vector>

namespace cudadiag::command {

struct TarEntry {
  std::string name;  // at most 100 bytes
  std::string content;
  std::string source{};  // for the list that is shown; not packed
};

// Returns an empty string if zlib failed.
std::string tarball(const std::vector<TarEntry>& entries);

}  // namespace cudadiag::command
