// The pinned memory of the process that the recorder may read: allocated or registered, neither write-combined nor of a
// device. Sorted by address; what exceeds kMost is not known. One short lock of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/lock.h"

namespace cudadiag::record {

class PinnedRanges {
 public:
  static constexpr std::size_t kMost = 4096;

  // EXIT of a call that has allocated or registered memory; `parameters` as CUPTI gives them.
  void made(std::uint32_t id, const void* parameters, std::uint64_t begin, std::uint64_t bytes);
  // Its end; `begin` if it is not known.
  std::uint64_t gone(std::uint64_t begin);
  void clear();
  bool contain(std::uint64_t begin, std::uint64_t end) const;

 private:
  struct Range {
    std::uint64_t begin, end;
  };

  // Index of the first range that begins after the address.
  std::size_t after(std::uint64_t address) const;

  mutable Mutex mutex_;
  std::size_t count_ = 0;
  std::array<Range, kMost> ranges_;
};

}  // namespace cudadiag::record
