// Caches the sites at which a thread issues operations. The key is a hash of values that are cheap to read: the
// kernel's handle, the Python stack's hash and the stack pointer. Two sites with the same key are distinguished by
// their native stacks. Only the thread itself accesses its cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cudadiag::record {

struct SiteCache {
  static constexpr std::size_t kSets = 1024;
  static constexpr std::size_t kWays = 4;
  struct alignas(32) Entry {
    std::uint64_t key;         // 0 if free
    std::uint64_t addresses;   // hash of the native stack's return addresses, compared at each call; 0 if none
    std::uint32_t shape_key;   // lower half of the expected key of `shape`
    std::uint32_t armed_from;  // see Window::armed_from
    std::uint16_t shape;       // index of the shape that has the stack positions of these addresses
    std::uint16_t site;
    std::uint16_t function;  // 0 if unknown
    bool checks_its_data;    // see Interner::checks_its_data
    std::uint8_t opened;     // a library in the stack that the program may close (opened_modules.h); 0 if none
  };
  std::array<Entry, kSets * kWays> entries;  // one set after another
  std::uint16_t replaced;                    // number of entries replaced so far

  // Returns an entry with this key for which `fits` returns true.
  template <typename Fits>
  const Entry* find(std::uint64_t key, Fits fits) const {
    const Entry* set = &entries[set_of(key)];
    for (const Entry* entry = set; entry != set + kWays; ++entry) {
      if (entry->key == key && fits(*entry)) [[likely]]
        return entry;
    }
    return nullptr;
  }
  const Entry& insert(const Entry& entry);

 private:
  static std::size_t set_of(std::uint64_t key) { return (key >> 1) % kSets * kWays; }
};

}  // namespace cudadiag::record
