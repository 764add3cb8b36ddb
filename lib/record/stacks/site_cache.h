// The sites at which a thread issues operations, by cheap facts: the kernel's handle, the Python stack's hash, the
// stack pointer. If these do not distinguish two sites, the native stack does: several entries may have one key. Only
// its thread touches it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cudadiag::record {

struct SiteCache {
  static constexpr std::size_t kSets = 1024;
  static constexpr std::size_t kWays = 4;
  struct alignas(32) Entry {
    std::uint64_t key;         // 0: free
    std::uint64_t addresses;   // hash of the native stack's return addresses, to be looked at again; 0: it has none
    std::uint32_t shape_key;   // lower half of the key that `shape` is to have
    std::uint32_t armed_from;  // Window::armed_from
    std::uint16_t shape;       // where these addresses lie: index of the thread's shape
    std::uint16_t site;
    std::uint16_t function;  // 0: not known
    bool checks_its_data;    // Interner::checks_its_data
    std::uint8_t opened;     // a library in the stack that the program may close (opened_modules.h); 0: none
  };
  std::array<Entry, kSets * kWays> entries;  // set by set
  std::uint16_t replaced;                    // entries so far

  // The entry with this key that `fits`; null: none.
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
