// The process's allocations, live and recently freed, in the area's `allocations` (wire/tables.h). Functions that
// change them must be called after the driver's call has succeeded. The class has one lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/libc_substitutes.h"
#include "record/output/area_map.h"
#include "wire/tables.h"

namespace cudadiag::record {

class Allocations {
 public:
  struct Made {
    std::uint64_t address, bytes;
    wire::allocation::Kind kind;
    std::uint16_t thread;
    std::uint32_t site, context, stream;
  };
  struct Freed {
    std::uint64_t address;
    std::uint64_t entered;  // ticks at ENTER of the call that frees the memory
    std::uint32_t site, stream;
  };

  struct Living {
    std::uint64_t address, bytes, serial;
    std::uint32_t entry;
  };

  void attach(AreaMap& area);

  // Stores the live device memory in `to`, which must have room for kAllocations entries. Returns the number of
  // entries. Omits stream-ordered memory, because its pool may reuse it without changing the mapping.
  std::size_t living(Living* to) const;
  // Calls `visit(address, bytes, kind)` for all live memory, including host memory.
  template <typename Visit>
  void each_living(Visit visit) const {
    const LockGuard lock(mutex_);
    for (std::uint32_t i = 0; i < used_; ++i) {
      const std::byte* known = entry(i);
      if (wire::load(known, wire::allocation::kFreed) != 0) continue;
      visit(wire::load(known, wire::allocation::kAddress), wire::load(known, wire::allocation::kBytes),
            static_cast<wire::allocation::Kind>(wire::load(known, wire::allocation::kKind)));
    }
  }
  // Finds the live device allocation that begins at the address.
  bool living_at(std::uint64_t address, Living& to) const;
  // Returns true if this allocation has not been freed. Takes no lock, so the answer may be slightly out of date.
  bool lives(std::uint32_t entry, std::uint64_t serial) const;
  // Returns how many allocations have been freed or unmapped so far.
  std::uint64_t ends() const { return ends_.load(std::memory_order_acquire); }

  void made(const Made& made);
  void freed(const Freed& freed);
  // Ends all mappings in the range that begins at the address in `freed` and has `bytes` bytes.
  void unmapped(const Freed& freed, std::uint64_t bytes);
  // Marks the mappings that begin in this range as writable.
  void granted(std::uint64_t address, std::uint64_t bytes);
  void context_destroyed(std::uint32_t context, const Freed& freed);

 private:
  static constexpr std::size_t kBuckets = 16384;

  std::byte* entry(std::uint32_t index) const;
  bool lives_on_device(std::uint32_t index, Living& to) const;
  static std::size_t bucket_of(std::uint64_t address);
  // Returns 1 + the index of the live allocation's entry at this address; 0 if there is none.
  std::uint32_t find(std::uint64_t address) const;
  void end(std::uint32_t index, const Freed& freed, std::uint8_t flags);
  std::uint32_t take_entry();

  AreaMap* area_ = nullptr;
  mutable Mutex mutex_;
  std::atomic<std::uint64_t> ends_ = 0;
  std::uint64_t serial_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t replaced_ = 0;  // replaced allocations whose free call is still unknown
  // heads of the lists of live allocations: 1 + entry; 0 if empty
  std::array<std::uint32_t, kBuckets> buckets_{};
  std::array<std::uint32_t, wire::area::kAllocations> next_{};  // the next entry in the same bucket
  std::array<std::uint32_t, wire::area::kAllocations> freed_;   // a ring buffer of freed entries, oldest first
  std::size_t freed_first_ = 0, freed_count_ = 0;
};

}  // namespace cudadiag::record
