// A process's memory as it was at one moment, as far as the recorder saw it handed out and taken back.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

// Where an address lay.
struct Whereabouts {
  enum class State { unknown, live, past_end, freed };
  State state = State::unknown;
  const session::Allocation* allocation = nullptr;  // null: unknown
  std::uint64_t bytes = 0;  // its own, and of a mapping those of the live ones that follow it without a gap
};

class AllocationMap {
 public:
  // How far past the end of an allocation an address still counts as an access to it.
  static constexpr std::uint64_t kPastEnd = 1u << 20;

  // `record` must outlive the map.
  AllocationMap(const session::ProcessRecord& record, std::uint64_t ticks);

  // Inside a live allocation before anything else, then inside a freed one, then past the end of a live one. If several
  // fit, the one that was made or freed last.
  Whereabouts find(std::uint64_t address) const;

 private:
  struct Piece {
    std::uint64_t end;
    const session::Allocation* allocation;
  };
  using Pieces = std::map<std::uint64_t, Piece>;  // by first address; they do not overlap
  static void assign(Pieces& pieces, const session::Allocation& allocation);
  static const session::Allocation* in(const Pieces& pieces, std::uint64_t address);
  std::uint64_t extent(const session::Allocation& allocation) const;

  Pieces live_, freed_;
  std::multimap<std::uint64_t, const session::Allocation*> ends_;
};

// Whether every allocation of the process was recorded, so that "in none" can be said.
inline bool knows_all_allocations(const session::ProcessRecord& record) { return record.dropped_allocations == 0; }

// The line that took memory of a device, or host memory pinned for it.
struct MemoryHolder {
  std::uint32_t site = 0;
  std::uint64_t bytes = 0;
  std::size_t count = 0;
};

struct MemoryUse {
  std::uint64_t bytes = 0, peak = 0;  // held by this process: at the moment, and at most before it
  std::vector<MemoryHolder> holders;  // by site, largest first
};

struct MemoryChange {
  std::uint64_t ticks = 0;
  std::uint64_t bytes = 0;  // that are held from then on
};

// The memory of that kind that the process held on the call's device before the call ran out of memory, by time.
std::vector<MemoryChange> memory_changes(const session::ProcessRecord& record, const session::FailedCall& error);
// For a call that ran out of memory: what the process held of that kind on the call's device.
MemoryUse memory_use(const session::ProcessRecord& record, const session::FailedCall& error);
// Whether it was memory of the host that the call wanted.
bool wanted_host_memory(const session::FailedCall& error);

}  // namespace cudadiag::analyse
