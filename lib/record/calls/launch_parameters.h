// Reads the parameters of kernel launches: their layout, the addresses among them, and their values for reports.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/calls/call_rules.h"
#include "record/driver_api.h"
#include "record/libc_substitutes.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/id_table.h"
#include "record/output/interner.h"
#include "wire/race_record.h"

namespace cudadiag::record {

// The offset and size of each parameter of a kernel. The recorder queries the driver once per kernel and stores the
// result in the area, for readers of the parameters. The format is in wire/tables.h.
struct ParameterLayout {
  std::uint32_t index = 0;  // in the region `layouts`; 0 if unknown
  std::uint16_t count = 0;
  const std::uint16_t* places = nullptr;  // offset and size of each parameter

  std::size_t offset(std::size_t parameter) const { return places[2 * parameter]; }
  std::size_t size(std::size_t parameter) const { return places[2 * parameter + 1]; }
  std::size_t end() const { return count == 0 ? 0 : offset(count - 1u) + size(count - 1u); }
};

class ParameterLayouts {
 public:
  void attach(AreaMap& area, const DriverApi& driver);
  // Forgets all layouts, because the driver may reuse kernel handles for different kernels.
  void module_unloaded() { generation_.fetch_add(1, std::memory_order_relaxed); }

  ParameterLayout of(CUfunction function);

 private:
  [[gnu::cold, gnu::noinline]] std::uint32_t ask(CUfunction function);

  const DriverApi* driver_ = nullptr;
  std::uint16_t* pool_ = nullptr;  // the region `layouts`; index 0 means unknown
  std::atomic<std::uint64_t> generation_ = 0;
  Mutex mutex_;
  std::uint32_t used_ = 1;
  IdTable<32768> known_;
};

// The memory block that holds all parameters of a launch with CU_LAUNCH_PARAM_BUFFER_POINTER.
struct ParameterBuffer {
  const void* bytes = nullptr;
  std::size_t size = 0;
};
ParameterBuffer parameter_buffer(void* const* extra);

// Finds the words of a kernel's parameters that may be addresses of allocations. Structures passed by value may contain
// pointers, so every aligned word is checked.
class ParameterWords {
 public:
  void attach(ParameterLayouts& layouts) { layouts_ = &layouts; }
  void memory_made(std::uint64_t address, std::uint64_t bytes);

  struct Word {
    std::uint64_t value;
    std::uint16_t offset;
  };
  struct Found {
    std::array<Word, wire::race::kMostWords> words;
    std::size_t count = 0;
    std::uint32_t zeros = 0;  // see wire::race::kZeros
  };
  void find(CUfunction function, void* const* parameters, void* const* extra, Found& found);
  // Returns false if no known memory is near the address.
  bool may_be(std::uint64_t address) const {
    return address >= lowest_.load(std::memory_order_relaxed) && address < highest_.load(std::memory_order_relaxed);
  }
  // Calls visit(bytes, size, offset) for each parameter.
  template <typename Visit>
  void each(CUfunction function, void* const* parameters, const Visit& visit) const {
    if (parameters == nullptr) return;
    const ParameterLayout layout = layouts_->of(function);
    for (std::size_t i = 0; i < layout.count; ++i) {
      if (parameters[i] != nullptr) visit(static_cast<const char*>(parameters[i]), layout.size(i), layout.offset(i));
    }
  }

 private:
  void scan(const void* bytes, std::size_t size, std::size_t offset, Found& found) const;
  static void scan_zeros(const void* bytes, std::size_t size, std::size_t offset, Found& found);

  ParameterLayouts* layouts_ = nullptr;
  std::atomic<std::uint64_t> lowest_ = ~std::uint64_t{0}, highest_ = 0;
};

// Keeps the parameters of each thread's latest kernel launches. A report can then show the pointers that were passed to
// the failing kernel. The layout is in wire/tables.h.
class LatestParameters {
 public:
  void attach(ParameterLayouts& layouts) { layouts_ = &layouts; }
  // Called at ENTER of a launch that is not empty, before its own record is written.
  [[gnu::hot]] void keep(const ThreadState& thread, const Call& launch);

 private:
  ParameterLayouts* layouts_ = nullptr;
};

// Keeps the contents of small copies from host memory that look like tables of addresses. A report can then show a
// pointer that the failing kernel read from memory. The layout is in wire/tables.h.
class CopiedTables {
 public:
  void attach(AreaMap& area) { slots_ = area.region(wire::area::Region::copied); }
  // Called at ENTER, before the copy's own record is written. Takes less than a microsecond.
  [[gnu::cold, gnu::noinline]] void keep(const ThreadState& thread, const Call& copy);

 private:
  std::byte* slots_ = nullptr;
  Mutex mutex_;
};

// Records the parameters of the launch that a rerun waits for, if that launch fails. The parameters are read at ENTER.
// The caller holds the gate (exclusive_wait.h), so one buffer is enough.
class LaunchArguments {
 public:
  static constexpr std::size_t kMostParameters = 64;
  static constexpr std::size_t kMostBytes = 4096;

  void attach(Interner& interner, const DriverApi& driver);

  void read(const Call& launch);
  // Call this if the operation that is about to run alone has no parameters.
  void forget() { has_ = false; }
  // Call this when the operation whose parameters were read has failed.
  void keep(std::uint16_t thread, std::uint64_t serial);

 private:
  bool layout_of(CUfunction function, std::size_t parameter, std::size_t& offset, std::size_t& size) const;
  bool add(std::size_t offset, const void* value, std::size_t size);
  void read_buffer(CUfunction function, void* const* extra);

  Interner* interner_ = nullptr;
  const DriverApi* driver_ = nullptr;
  bool has_ = false, noted_ = false;
  std::uint32_t flags_ = 0;
  std::size_t count_ = 0, bytes_ = 0;
  struct Head {
    std::uint64_t serial;
    std::uint32_t thread, flags;
    struct {
      std::uint32_t offset, size;
    } parameters[kMostParameters];
  } head_{};
  alignas(8) std::array<std::byte, kMostBytes> values_{};
};

}  // namespace cudadiag::record
