#include "memory.h"

#include <sys/mman.h>

namespace sim {
namespace {

std::size_t rounded(std::size_t bytes) { return (bytes + 511) & ~std::size_t{511}; }

}  // namespace

CUresult Memory::allocate(std::uint32_t context_uid, std::size_t bytes, Kind kind, std::uint64_t& address) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(mutex_);
  if (kind == Kind::device && (bytes > total_ || used_ + rounded(bytes) > total_)) return CUDA_ERROR_OUT_OF_MEMORY;
  void* place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  if (kind == Kind::device) used_ += rounded(bytes);
  address = reinterpret_cast<std::uint64_t>(place);
  ranges_[address] = {bytes, kind, context_uid};
  return CUDA_SUCCESS;
}

CUresult Memory::release(std::uint64_t address, Kind kind) {
  std::lock_guard lock(mutex_);
  const auto range = ranges_.find(address);
  if (range == ranges_.end()) {
    return kind == Kind::registered ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE;
  }
  if (range->second.kind != kind) return CUDA_ERROR_INVALID_VALUE;
  unmap(range);
  return CUDA_SUCCESS;
}

CUresult Memory::enlist(std::uint32_t context_uid, std::uint64_t address, std::size_t bytes) {
  if (address == 0 || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(mutex_);
  const auto following = ranges_.lower_bound(address);
  const bool overlaps_following = following != ranges_.end() && following->first < address + bytes;
  if (overlaps_following || find(address) != ranges_.end()) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  ranges_[address] = {bytes, Kind::registered, context_uid};
  return CUDA_SUCCESS;
}

CUresult Memory::reserve(std::size_t bytes, std::uint64_t wanted, std::uint64_t& address) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  constexpr std::uint64_t kUnit = std::uint64_t{32} << 20;
  const std::uint64_t asked = (wanted + kUnit - 1) / kUnit * kUnit;  // as driver 580 does
  void* place = mmap(reinterpret_cast<void*>(asked), bytes, PROT_NONE, kFlags, -1, 0);
  if (place == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  address = reinterpret_cast<std::uint64_t>(place);
  return CUDA_SUCCESS;
}

CUresult Memory::map(std::uint64_t address, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (mprotect(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE) != 0) return CUDA_ERROR_INVALID_VALUE;
  ranges_[address] = {bytes, Kind::mapped, 0};
  return CUDA_SUCCESS;
}

void Memory::forget_context(std::uint32_t context_uid) {
  std::lock_guard lock(mutex_);
  for (auto range = ranges_.begin(); range != ranges_.end();) {
    const auto here = range++;
    if (here->second.context_uid == context_uid) unmap(here);
  }
}

bool Memory::holds(std::uint64_t address, std::uint64_t bytes) const {
  std::lock_guard lock(mutex_);
  const auto range = find(address);
  return range != ranges_.end() && bytes <= range->second.bytes - (address - range->first);
}

bool Memory::is_of_host(std::uint64_t address) const {
  std::lock_guard lock(mutex_);
  const auto range = find(address);
  return range != ranges_.end() && (range->second.kind == Kind::pinned || range->second.kind == Kind::registered);
}

std::size_t Memory::free_bytes() const {
  std::lock_guard lock(mutex_);
  return total_ - used_;
}

Memory::Ranges::const_iterator Memory::find(std::uint64_t address) const {
  auto range = ranges_.upper_bound(address);
  if (range == ranges_.begin()) return ranges_.end();
  --range;
  return address < range->first + range->second.bytes ? range : ranges_.end();
}

void Memory::unmap(Ranges::iterator range) {
  if (range->second.kind == Kind::device) used_ -= rounded(range->second.bytes);
  if (range->second.kind != Kind::registered) munmap(reinterpret_cast<void*>(range->first), range->second.bytes);
  ranges_.erase(range);
}

}  // namespace sim
