// Recorded allocations of a process, and the contents that recorded copies gave to memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

// Reads a number from the bytes of parameters, which must contain all of it.
template <typename T>
T number_at(const std::string& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Whereabouts {
  enum class State { unknown, live, past_end, freed };
  State state = State::unknown;
  const session::Allocation* allocation = nullptr;  // null if unknown
  std::uint64_t bytes = 0;  // size; includes adjacent live mappings if `allocation` is a mapping
};

// Returns how far past the end of a memory an address points or, if it is the beginning of `bytes` bytes, how far these
// extend past the end; 0 if all is inside. `offset`: the address's distance from the beginning of the memory.
std::uint64_t past_end(std::uint64_t offset, const std::optional<std::uint64_t>& bytes, std::uint64_t size);

// Recorded allocations of a process: which are live or freed at a given time, and which one holds an address.
class AllocationMap {
 public:
  // An address up to this many bytes past the end of an allocation is attributed to that allocation.
  static constexpr std::uint64_t kPastEnd = 1u << 20;

  // `record` must outlive the map.
  AllocationMap(const session::ProcessRecord& record, std::uint64_t ticks);

  // Looks for a live allocation that contains the address, then for a freed one, then for a live one that ends just
  // below it. If several fit, returns the one that was allocated or freed last.
  Whereabouts find(std::uint64_t address) const;
  // Returns the live allocation that begins at the address or nearest below it.
  Whereabouts below(std::uint64_t address) const;

 private:
  struct Piece {
    std::uint64_t end;
    const session::Allocation* allocation;
  };
  using Pieces = std::map<std::uint64_t, Piece>;  // by first address; pieces do not overlap
  static void assign(Pieces& pieces, const session::Allocation& allocation);
  static const session::Allocation* in(const Pieces& pieces, std::uint64_t address);
  std::uint64_t extent(const session::Allocation& allocation) const;

  Pieces live_, freed_;
  std::multimap<std::uint64_t, const session::Allocation*> ends_;
};

// Returns whether every allocation of the process was recorded. If not, an address outside all recorded allocations may
// still be valid. Memory that a node of a graph allocates is not recorded.
bool knows_all_allocations(const session::ProcessRecord& record);
// Returns whether a GPU of the process accesses the host's pageable memory too (HMM, Grace Hopper).
bool reads_host_memory(const session::ProcessRecord& record);

// A line that allocated device memory, or host memory pinned for the device.
struct MemoryHolder {
  std::uint32_t site = 0;
  std::uint64_t bytes = 0;
  std::size_t count = 0;
};

struct MemoryUse {
  std::uint64_t bytes = 0, peak = 0;  // held at the time of the call, and the maximum until then
  std::vector<MemoryHolder> holders;  // by site, largest first
};

struct MemoryChange {
  std::uint64_t ticks = 0;
  std::uint64_t bytes = 0;  // held from this time on
};

// For a call that ran out of memory: returns the changes in the process's memory use up to the failure. Counts only
// memory of the requested kind on the call's device.
std::vector<MemoryChange> memory_changes(const session::ProcessRecord& record, const session::FailedCall& error);
// For a call that ran out of memory: returns, by call site, how much memory of the requested kind the process held at
// the failure.
MemoryUse memory_use(const session::ProcessRecord& record, const session::FailedCall& error);
bool wanted_host_memory(const session::FailedCall& error);

// Finds device memory whose contents are known when a kernel is launched: a recorded copy from host memory filled it,
// and no recorded operation can have changed it since. Also finds the operation that wrote to memory last.
struct CopiedMemory {
  std::uint64_t address = 0;  // a multiple of 8
  std::string bytes;
  const session::Allocation* allocation = nullptr;  // never null
};

// `map` must contain the allocations at the time of the launch. Earlier launches of the same kernel do not count as
// changes if they received the memory in the same parameters: the caller knows from the kernel's code what it changes.
// Memory is left out if an operation that may have changed it has no record.
std::vector<CopiedMemory> copied_memory(const session::ProcessRecord& record, const session::Operation& launch,
                                        const AllocationMap& map);

// Returns the latest operation before the launch that wrote to the allocation, or may have written to it: a copy or
// memset, or a kernel that received an address in it. Returns null if there is none, or if it is unknown.
const session::Operation* last_writer(const session::ProcessRecord& record, const session::Operation& launch,
                                      const session::Allocation& allocation, const AllocationMap& map);

}  // namespace cudadiag::analyse
