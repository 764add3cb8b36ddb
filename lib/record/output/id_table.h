// A fixed hash table from a 64-bit key to a small id: looked up without a lock, filled under its owner's lock,
// never emptied. It takes no memory but its own, and a full table says so instead of growing. An id may have a stamp:
// since when it holds.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace cudadiag::record {

struct StampedId {
  std::uint32_t id, stamp;  // id 0: none
};

template <std::size_t Capacity>
class IdTable {
  static_assert((Capacity & (Capacity - 1)) == 0, "a power of two");

 public:
  // 0: not there.
  std::uint32_t find(std::uint64_t key) const { return find_stamped(key).id; }
  StampedId find_stamped(std::uint64_t key) const {
    for (std::size_t at = key & kMask, probes = 0; probes < kProbes; at = (at + 1) & kMask, ++probes) {
      const std::uint64_t seen = key_of(at).load(std::memory_order_acquire);
      if (seen == key) return std::bit_cast<StampedId>(value_of(at).load(std::memory_order_acquire));
      if (seen == 0) break;
    }
    return {};
  }

  // False: no place left near the key. Callers hold the owner's lock. Key 0 is not a key; one that is there gets the
  // new value.
  bool insert(std::uint64_t key, std::uint32_t id) { return put(key, {id, 0}); }
  bool put(std::uint64_t key, StampedId value) {
    for (std::size_t at = key & kMask, probes = 0; probes < kProbes; at = (at + 1) & kMask, ++probes) {
      const std::uint64_t seen = key_of(at).load(std::memory_order_relaxed);
      if (seen != 0 && seen != key) continue;
      // Released like the key: a key that is there gets a new value, which a reader meets behind the old key.
      value_of(at).store(std::bit_cast<std::uint64_t>(value), std::memory_order_release);
      key_of(at).store(key, std::memory_order_release);
      return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kMask = Capacity - 1;
  static constexpr std::size_t kProbes = 64;
  // Plain memory, so that making the table touches none of its pages: they come zeroed from the kernel.
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
