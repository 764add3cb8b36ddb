#include "record/memory/allocations.h"

#include "wire/hash.h"

namespace cudadiag::record {

namespace area = wire::area;
namespace allocation = wire::allocation;

void Allocations::attach(AreaMap& map) { area_ = &map; }

std::byte* Allocations::entry(std::uint32_t index) const {
  return area_->region(area::Region::allocations) + index * area::kAllocationSize;
}

std::size_t Allocations::bucket_of(std::uint64_t address) {
  return wire::mix(wire::kHashSeed, address) >> 20 & (kBuckets - 1);
}

std::uint32_t Allocations::find(std::uint64_t address) const {
  std::uint32_t at = buckets_[bucket_of(address)];
  while (at != 0 && wire::load(entry(at - 1), allocation::kAddress) != address) at = next_[at - 1];
  return at;
}

bool Allocations::lives_on_device(std::uint32_t index, Living& to) const {
  using Kind = allocation::Kind;
  const std::byte* known = entry(index);
  const auto kind = static_cast<Kind>(wire::load(known, allocation::kKind));
  const bool wanted = kind == Kind::device || kind == Kind::managed || kind == Kind::mapped;
  if (!wanted || wire::load(known, allocation::kFreed) != 0) return false;
  to = {wire::load(known, allocation::kAddress), wire::load(known, allocation::kBytes),
        wire::load(known, allocation::kSerial), index};
  return true;
}

std::size_t Allocations::living(Living* to) const {
  const LockGuard lock(mutex_);
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < used_; ++i) count += lives_on_device(i, to[count]);
  return count;
}

bool Allocations::living_at(std::uint64_t address, Living& to) const {
  const LockGuard lock(mutex_);
  const std::uint32_t found = find(address);
  return found != 0 && lives_on_device(found - 1, to);
}

bool Allocations::lives(std::uint32_t at, std::uint64_t serial) const {
  const std::byte* known = entry(at);
  return wire::load_acquire(known, allocation::kSerial) == serial && wire::load(known, allocation::kFreed) == 0;
}

// Returns 1 + the index of an unused entry or, if there is none, of the entry that was freed longest ago. Returns 0 if
// all allocations are live.
std::uint32_t Allocations::take_entry() {
  if (used_ < area::kAllocations) return ++used_;
  if (freed_count_ == 0) return 0;
  const std::uint32_t oldest = freed_[freed_first_];
  freed_first_ = (freed_first_ + 1) % freed_.size();
  --freed_count_;
  area_->count(area::kForgottenAllocations);
  return oldest + 1;
}

void Allocations::made(const Made& made) {
  const LockGuard lock(mutex_);
  // If an allocation at this address is still listed, another thread is freeing it, and that thread's call has not
  // returned yet.
  if (const std::uint32_t before = find(made.address)) {
    end(before - 1, {made.address, ticks(), 0, allocation::kNone}, allocation::kReplaced);
    ++replaced_;
  }
  const std::uint32_t taken = take_entry();
  if (taken == 0) return area_->count(area::kDroppedAllocations);
  std::byte* to = entry(taken - 1);
  wire::store_release(to, allocation::kSerial, 0);
  std::atomic_thread_fence(std::memory_order_release);
  wire::store(to, allocation::kAddress, made.address);
  wire::store(to, allocation::kBytes, made.bytes);
  wire::store(to, allocation::kMade, ticks());
  wire::store(to, allocation::kFreed, 0);
  wire::store(to, allocation::kSite, made.site);
  wire::store(to, allocation::kFreedSite, 0);
  wire::store(to, allocation::kKind, static_cast<std::uint8_t>(made.kind));
  wire::store(to, allocation::kFlags, 0);
  wire::store(to, allocation::kThread, made.thread);
  wire::store(to, allocation::kContext, made.context);
  wire::store(to, allocation::kStream, made.stream);
  wire::store(to, allocation::kFreedStream, allocation::kNone);
  wire::store_release(to, allocation::kSerial, ++serial_);
  wire::store_release(area_->header(), area::kAllocationsUsed, used_);
  std::uint32_t& bucket = buckets_[bucket_of(made.address)];
  next_[taken - 1] = bucket;
  bucket = taken;
}

// Moves the allocation from the live ones to the freed ones. Its entry is reused when it is the oldest freed one and a
// new allocation needs an entry.
void Allocations::end(std::uint32_t index, const Freed& freed, std::uint8_t flags) {
  std::byte* to = entry(index);
  std::uint32_t* at = &buckets_[bucket_of(wire::load(to, allocation::kAddress))];
  while (*at != index + 1) at = &next_[*at - 1];
  *at = next_[index];
  wire::store(to, allocation::kFreedSite, freed.site);
  wire::store(to, allocation::kFreedStream, freed.stream);
  wire::store(to, allocation::kFlags, flags);
  wire::store_release(to, allocation::kFreed, freed.entered);
  freed_[(freed_first_ + freed_count_) % freed_.size()] = index;
  ++freed_count_;
  ends_.fetch_add(1, std::memory_order_release);
}

void Allocations::freed(const Freed& freed) {
  const LockGuard lock(mutex_);
  const std::uint32_t at = find(freed.address);
  if (at != 0 && wire::load(entry(at - 1), allocation::kMade) < freed.entered) return end(at - 1, freed, 0);
  // If the live allocation at this address is newer than this call, the call has freed the allocation that was marked
  // as replaced.
  for (std::uint32_t i = 0; replaced_ > 0 && i < used_; ++i) {
    std::byte* to = entry(i);
    if (wire::load(to, allocation::kAddress) != freed.address ||
        wire::load(to, allocation::kFlags) != allocation::kReplaced) {
      continue;
    }
    wire::store(to, allocation::kFreedSite, freed.site);
    wire::store(to, allocation::kFreedStream, freed.stream);
    wire::store(to, allocation::kFlags, 0);
    wire::store_release(to, allocation::kFreed, freed.entered);
    --replaced_;
    return;
  }
}

void Allocations::unmapped(const Freed& freed, std::uint64_t bytes) {
  const LockGuard lock(mutex_);
  for (std::uint32_t i = 0; i < used_; ++i) {
    const std::byte* known = entry(i);
    const std::uint64_t address = wire::load(known, allocation::kAddress);
    const bool mapped = wire::load(known, allocation::kKind) == static_cast<std::uint8_t>(allocation::Kind::mapped);
    const bool meant =
        wire::load(known, allocation::kFreed) == 0 && wire::load(known, allocation::kMade) < freed.entered;
    if (mapped && meant && address - freed.address < bytes) end(i, freed, 0);
  }
}

void Allocations::granted(std::uint64_t address, std::uint64_t bytes) {
  const LockGuard lock(mutex_);
  for (std::uint32_t i = 0; i < used_; ++i) {
    std::byte* known = entry(i);
    const bool mapped = wire::load(known, allocation::kKind) == static_cast<std::uint8_t>(allocation::Kind::mapped);
    const bool live = wire::load(known, allocation::kFreed) == 0;
    if (mapped && live && wire::load(known, allocation::kAddress) - address < bytes)
      wire::store(known, allocation::kFlags, allocation::kWritable);
  }
}

void Allocations::context_destroyed(std::uint32_t context, const Freed& freed) {
  using Kind = allocation::Kind;
  const LockGuard lock(mutex_);
  for (std::uint32_t i = 0; i < used_; ++i) {
    const std::byte* known = entry(i);
    // Skips mappings: physical memory and reserved addresses belong to the process, not to a context.
    const bool own = wire::load(known, allocation::kKind) != static_cast<std::uint8_t>(Kind::mapped);
    if (own && wire::load(known, allocation::kFreed) == 0 && wire::load(known, allocation::kContext) == context) {
      end(i, freed, allocation::kWithContext);
    }
  }
}

}  // namespace cudadiag::record
