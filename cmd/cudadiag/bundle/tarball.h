// A .tar.gz that depends on nothing but its contents: no times, no owners.
#pragma once

#include <string>
#include <vector>

namespace cudadiag::command {

struct TarEntry {
  std::string name;  // of at most 100 bytes
  std::string content;
  std::string source{};  // for the reader; not packed
};

// Empty: zlib refused.
std::string tarball(const std::vector<TarEntry>& entries);

}  // namespace cudadiag::command
