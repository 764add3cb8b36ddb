// Reads /proc/self/maps line by line through its own buffer. Does not use the heap or stdio, and needs little stack
// space.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>

#include "record/guest.h"

namespace cudadiag::record {

struct MemoryRange {
  std::uintptr_t begin, end;
  std::uint64_t file_offset;
  const char* path;  // valid until the next call; empty for anonymous memory
};

class MemoryMap {
 public:
  MemoryMap();
  ~MemoryMap();
  MemoryMap(const MemoryMap&) = delete;
  MemoryMap& operator=(const MemoryMap&) = delete;
  bool next(MemoryRange& range);

 private:
  struct Text {
    std::array<char, 4096> read;
    std::array<char, PATH_MAX> path;
  };

  int next_byte();

  Uncancelled uncancelled_;
  int fd_;
  Scratch<Text> text_;
  std::size_t at_ = 0, filled_ = 0;
};

}  // namespace cudadiag::record
