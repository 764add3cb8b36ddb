// Graphs that were launched though memory that they point to had been freed, as the recorder noticed at the launch.
#pragma once

#include <optional>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// The first such launch of a process in which nothing failed: suspected, because it is not known whether the node used
// its pointer.
std::optional<Failure> stale_replay(const session::Process& process);

// The pointer that makes this launch likely to have failed with an illegal address; null: there is none. The memory was
// freed since the graph was made or launched last, and is not all somebody's again.
//
// No data flow shows that the kernel used the pointer. A parameter of eight bytes is enough all the same, because it is
// a pointer, and the error comes at the first launch that can meet it. A word of a structure may be a leftover of an
// earlier call. It counts only if the graph had been launched with the same parameters while the memory lived. A
// leftover would have to point to just the memory that was freed between the last launch that went well and this one.
const session::StalePointer* stale_pointer_of(const session::ProcessRecord& record, const session::Operation& launch);

// If the likeliest candidate is such a launch: blames its node, and names the memory that it pointed to.
void blame_stale_pointer(Failure& failure);

// Leaves the launch in the place of its node: better evidence than the pointer says which operation failed.
void forget_stale_pointer(Failure& failure);

}  // namespace cudadiag::analyse
