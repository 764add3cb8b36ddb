// Simulated device memory: ranges of host memory, and the context that allocated or registered each range.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "abi.h"

namespace sim {

class Memory {
 public:
  enum class Kind { device, pinned, registered, mapped };
  // Must be called before anything is allocated.
  void set_total(std::size_t bytes) { total_ = bytes; }
  std::size_t total() const { return total_; }

  CUresult allocate(std::uint32_t context_uid, std::size_t bytes, Kind kind, std::uint64_t& address);
  CUresult release(std::uint64_t address, Kind kind);
  CUresult enlist(std::uint32_t context_uid, std::uint64_t address, std::size_t bytes);
  // reserve() only reserves addresses: at `wanted`, rounded up to a multiple of 32 MiB, if these addresses are free.
  // map() then provides memory there.
  CUresult reserve(std::size_t bytes, std::uint64_t wanted, std::uint64_t& address);
  CUresult map(std::uint64_t address, std::size_t bytes);
  // Releases everything that was allocated or registered in the context.
  void forget_context(std::uint32_t context_uid);

  // Returns whether the range is inside a single live range. Contexts may use each other's memory, as with peer access.
  bool holds(std::uint64_t address, std::uint64_t bytes) const;
  bool is_of_host(std::uint64_t address) const;
  std::size_t free_bytes() const;

 private:
  struct Range {
    std::size_t bytes;
    Kind kind;
    std::uint32_t context_uid;
  };
  using Ranges = std::map<std::uint64_t, Range>;

  Ranges::const_iterator find(std::uint64_t address) const;
  void unmap(Ranges::iterator range);

  mutable std::mutex mutex_;
  Ranges ranges_;
  std::size_t total_ = std::size_t{8} << 30;
  std::size_t used_ = 0;
};

}  // namespace sim
