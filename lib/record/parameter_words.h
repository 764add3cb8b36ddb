// Which words among a kernel's parameters may be addresses of memory that the driver handed out. Pointers hide in
// structures that are passed by value, so every aligned word counts. Where a kernel's parameters lie is asked of the
// driver once per kernel.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "record/driver_api.h"
#include "record/id_table.h"
#include "record/lock.h"
#include "wire/race_record.h"

namespace cudadiag::record {

class ParameterWords {
 public:
  void attach(const DriverApi& driver) { driver_ = &driver; }
  void memory_made(std::uint64_t address, std::uint64_t bytes);
  // Handles of kernels may mean others from now on.
  void module_unloaded() { generation_.fetch_add(1, std::memory_order_relaxed); }

  struct Word {
    std::uint64_t value;
    std::uint16_t offset;
  };
  struct Found {
    std::array<Word, wire::race::kMostWords> words;
    std::size_t count = 0;
    std::uint32_t zeros = 0;  // wire::race::kZeros
  };
  void find(CUfunction function, void* const* parameters, void* const* extra, Found& found);

 private:
  // As it lies in the pool: so many parameters, then offset and size of each.
  struct Layout {
    std::uint16_t count;
    const std::uint16_t* places;
  };
  Layout layout_of(CUfunction function);
  std::uint32_t ask(CUfunction function);
  void scan(const void* bytes, std::size_t size, std::size_t offset, Found& found) const;
  static void scan_zeros(const void* bytes, std::size_t size, std::size_t offset, Found& found);

  const DriverApi* driver_ = nullptr;
  std::atomic<std::uint64_t> lowest_ = ~std::uint64_t{0}, highest_ = 0, generation_ = 0;
  Mutex mutex_;
  std::uint32_t used_ = 1;  // of the pool; 0 stands for nothing
  std::array<std::uint16_t, 1u << 19> pool_;
  IdTable<32768> layouts_;
};

}  // namespace cudadiag::record
