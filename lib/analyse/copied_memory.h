// Finds device memory whose contents are known when a kernel is launched: a recorded copy from host memory filled it, and
// no recorded operation can have changed it since. Also finds the operation that wrote to memory last.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/memory.h"
#include "session/process_record.h"

namespace cudadiag::analyse {

struct CopiedMemory {
  std::uint64_t address = 0;  // a multiple of 8
  std::string bytes;
  const session::Allocation* allocation = nullptr;  // never null
};

// `map` must contain the allocations at the time of the launch. Earlier launches of the same kernel do not count as
// changes: the caller knows from the kernel's code what it changes. Memory is left out if an operation that may have
// changed it has no record.
std::vector<CopiedMemory> copied_memory(const session::ProcessRecord& record, const session::Operation& launch,
                                        const AllocationMap& map);

// Returns the latest operation before the launch that wrote to the allocation, or may have written to it: a copy or
// memset, or a kernel that received an address in it. Returns null if there is none, or if it is unknown.
const session::Operation* last_writer(const session::ProcessRecord& record, const session::Operation& launch,
                                      const session::Allocation& allocation, const AllocationMap& map);

}  // namespace cudadiag::analyse
