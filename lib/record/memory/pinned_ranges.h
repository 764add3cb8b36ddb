// The process's pinned memory that the recorder may read. This is allocated or registered memory that is neither
// write-combined nor device memory. The ranges are sorted by address. Ranges beyond kMost are dropped. The class has
// one lock, which is held only briefly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/lock.h"

namespace cudadiag::record {

class PinnedRanges {
 public:
  static constexpr std::size_t kMost = 4096;

  // Call this at EXIT of a call that has allocated or registered memory. `parameters` is CUPTI's structure.
  void made(std::uint32_t id, const void* parameters, std::uint64_t begin, std::uint64_t bytes);
  // Removes the range that begins at the address. Returns the end of the range, or `begin` if the range is unknown.
  std::uint64_t gone(std::uint64_t begin);
  void clear();
  bool contain(std::uint64_t begin, std::uint64_t end) const;

 private:
  struct Range {
    std::uint64_t begin, end;
  };

  // Returns the index of the first range that begins after the address.
  std::size_t after(std::uint64_t address) const;

  mutable Mutex mutex_;
  std::size_t count_ = 0;
  std::array<Range, kMost> ranges_;
};

}  // namespace cudadiag::record
