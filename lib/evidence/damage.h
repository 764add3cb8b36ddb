// Counts the invalid parts of a dump, and limits how many of its bytes are read.
#pragma once

#include <cstdint>

namespace cudadiag::evidence {

// Limits the total number of bytes read from sections to the size of the file. Sections of a valid dump do not overlap,
// so this is enough. In a crafted dump, a million sections could refer to the same bytes.
class Budget {
 public:
  explicit Budget(std::uint64_t bytes) : left_(bytes) {}

  // If fewer than `bytes` bytes are left, counts this as damage and returns false.
  bool take(std::uint64_t bytes) {
    if (bytes > left_) return damage(), false;
    left_ -= bytes;
    return true;
  }
  void damage() { ++damaged_; }
  std::uint64_t damaged() const { return damaged_; }

 private:
  std::uint64_t left_;
  std::uint64_t damaged_ = 0;
};

}  // namespace cudadiag::evidence
