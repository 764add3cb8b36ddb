// The memory of a process at one moment, as far as the recorder saw it being allocated and freed.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

// The result of looking up an address.
struct Whereabouts {
  enum class State { unknown, live, past_end, freed };
  State state = State::unknown;
  const session::Allocation* allocation = nullptr;  // null if unknown
  std::uint64_t bytes = 0;  // size; a mapping includes the live mappings that follow it without a gap
};

class AllocationMap {
 public:
  // An address at most this many bytes past the end of an allocation still counts as an access to it.
  static constexpr std::uint64_t kPastEnd = 1u << 20;

  // `record` must outlive the map.
  AllocationMap(const session::ProcessRecord& record, std::uint64_t ticks);

  // Prefers a live allocation that contains the address, then a freed one, then a live one that ends before it. If
  // several fit, returns the one that was allocated or freed last.
  Whereabouts find(std::uint64_t address) const;

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

// Returns whether every allocation of the process was recorded, so that we can say that an address is in none of them.
inline bool knows_all_allocations(const session::ProcessRecord& record) { return record.dropped_allocations == 0; }

// A line that allocated device memory, or host memory pinned for the device.
struct MemoryHolder {
  std::uint32_t site = 0;
  std::uint64_t bytes = 0;
  std::size_t count = 0;
};

struct MemoryUse {
  std::uint64_t bytes = 0, peak = 0;  // what the process holds at that moment, and the most it has held until then
  std::vector<MemoryHolder> holders;  // by site, largest first
};

struct MemoryChange {
  std::uint64_t ticks = 0;
  std::uint64_t bytes = 0;  // held from this time on
};

// For a call that ran out of memory: returns how much of that kind of memory the process held on the call's device over
// time, until the call failed.
std::vector<MemoryChange> memory_changes(const session::ProcessRecord& record, const session::FailedCall& error);
// As above, but only at the time of the call, and by call site.
MemoryUse memory_use(const session::ProcessRecord& record, const session::FailedCall& error);
// Returns whether the call requested host memory.
bool wanted_host_memory(const session::FailedCall& error);

}  // namespace cudadiag::analyse
