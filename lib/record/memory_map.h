// Reads /proc/self/maps line by line with a buffer of its own: no allocation, no stdio.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>

namespace cudadiag::record {

struct MemoryRange {
  std::uintptr_t begin, end;
  std::uint64_t file_offset;
  char path[PATH_MAX];  // empty: anonymous
};

class MemoryMap {
 public:
  MemoryMap();
  ~MemoryMap();
  MemoryMap(const MemoryMap&) = delete;
  MemoryMap& operator=(const MemoryMap&) = delete;
  bool next(MemoryRange& range);

 private:
  int next_byte();

  int fd_;
  std::array<char, 4096> buffer_;
  std::size_t at_ = 0, filled_ = 0;
};

}  // namespace cudadiag::record
