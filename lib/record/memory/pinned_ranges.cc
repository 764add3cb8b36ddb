#include "record/memory/pinned_ranges.h"

#include <cupti.h>

#include <algorithm>

namespace cudadiag::record {

namespace {

// Excludes write-combined memory, because reading it is slow. Excludes device registers, because reading them can have
// side effects.
bool may_be_read(std::uint32_t id, const void* parameters) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2:
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
      return (static_cast<const cuMemHostAlloc_params*>(parameters)->Flags & CU_MEMHOSTALLOC_WRITECOMBINED) == 0;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
      return (static_cast<const cuMemHostRegister_v2_params*>(parameters)->Flags & CU_MEMHOSTREGISTER_IOMEMORY) == 0;
    default:
      return false;
  }
}

}  // namespace

std::size_t PinnedRanges::after(std::uint64_t address) const {
  const auto* end = ranges_.data() + count_;
  const auto* found = std::upper_bound(ranges_.data(), end, address,
                                       [](std::uint64_t value, const Range& range) { return value < range.begin; });
  return static_cast<std::size_t>(found - ranges_.data());
}

void PinnedRanges::made(std::uint32_t id, const void* parameters, std::uint64_t begin, std::uint64_t bytes) {
  if (bytes == 0 || begin + bytes < begin || !may_be_read(id, parameters)) return;
  const LockGuard lock(mutex_);
  const std::size_t at = after(begin);
  if (at > 0 && ranges_[at - 1].begin == begin) {
    ranges_[at - 1].end = begin + bytes;
    return;
  }
  if (count_ == kMost) return;
  std::copy_backward(ranges_.data() + at, ranges_.data() + count_, ranges_.data() + count_ + 1);
  ranges_[at] = {begin, begin + bytes};
  ++count_;
}

std::uint64_t PinnedRanges::gone(std::uint64_t begin) {
  const LockGuard lock(mutex_);
  const std::size_t at = after(begin);
  if (at == 0 || ranges_[at - 1].begin != begin) return begin;
  const std::uint64_t end = ranges_[at - 1].end;
  std::copy(ranges_.data() + at, ranges_.data() + count_, ranges_.data() + at - 1);
  --count_;
  return end;
}

void PinnedRanges::clear() {
  const LockGuard lock(mutex_);
  count_ = 0;
}

bool PinnedRanges::contain(std::uint64_t begin, std::uint64_t end) const {
  const LockGuard lock(mutex_);
  const std::size_t at = after(begin);
  return at > 0 && begin < end && end <= ranges_[at - 1].end;
}

}  // namespace cudadiag::record
