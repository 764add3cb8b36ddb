// A hash table of fixed size that maps a 64-bit key to a small id. Look-ups take no lock, insertions take the owner's
// lock, and nothing is ever removed. The table never grows: insertion into a full table fails. An id may have a stamp,
// from which the owner can tell whether the id is still valid.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace cudadiag::record {

struct StampedId {
  std::uint32_t id, stamp;  // id 0 means none
};

template <std::size_t Capacity>
class IdTable {
  static_assert((Capacity & (Capacity - 1)) == 0, "a power of two");

 public:
  std::uint32_t find(std::uint64_t key) const { return find_stamped(key).id; }
  StampedId find_stamped(std::uint64_t key) const {
    for (std::size_t at = key & kMask, probes = 0; probes < kProbes; at = (at + 1) & kMask, ++probes) {
      const std::uint64_t seen = key_of(at).load(std::memory_order_acquire);
      if (seen == key) return std::bit_cast<StampedId>(value_of(at).load(std::memory_order_acquire));
      if (seen == 0) break;
    }
    return {};
  }

  // Returns false if no entry near the key's position is free. An existing key gets the new value. Key 0 is invalid.
  // Callers must hold the owner's lock.
  bool insert(std::uint64_t key, std::uint32_t id) { return put(key, {id, 0}); }
  bool put(std::uint64_t key, StampedId value) {
    for (std::size_t at = key & kMask, probes = 0; probes < kProbes; at = (at + 1) & kMask, ++probes) {
      const std::uint64_t seen = key_of(at).load(std::memory_order_relaxed);
      if (seen != 0 && seen != key) continue;
      // The value needs a release store as well. If the key already exists, readers can load the new value before the
      // key is stored again.
      value_of(at).store(std::bit_cast<std::uint64_t>(value), std::memory_order_release);
      key_of(at).store(key, std::memory_order_release);
      return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kMask = Capacity - 1;
  static constexpr std::size_t kProbes = 64;
  // These are plain members, so that construction does not touch the table's pages, which the operating system provides
  // zeroed.
  struct Entry {
    std::uint64_t key, value;  // value: a StampedId
  };
  std::atomic_ref<std::uint64_t> key_of(std::size_t at) const {
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(entries_[at].key));
  }
  std::atomic_ref<std::uint64_t> value_of(std::size_t at) const {
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(entries_[at].value));
  }

  std::array<Entry, Capacity> entries_;
};

}  // namespace cudadiag::record
