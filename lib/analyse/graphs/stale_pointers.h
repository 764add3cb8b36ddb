// Graphs that were launched after memory that they point to had been freed, as the recorder noticed at the launch.
#pragma once

#include <optional>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Returns the first such launch of a process in which nothing failed. It is only suspected, because it is unknown
// whether the node used its pointer.
std::optional<Failure> stale_replay(const session::Process& process);

// Returns the pointer that makes this launch likely to have failed with an illegal address; null if there is none. The
// memory was freed since the graph was created or last launched, and live allocations do not cover all of it again.
//
// No data flow shows that the kernel used the pointer. An eight-byte parameter is nevertheless enough: it is a pointer,
// and the error comes at the first launch that can encounter the freed memory. A word in a structure may be left over
// from an earlier call. It counts only if the graph was launched with the same parameters while the memory was live. A
// leftover would then have to point to exactly the memory that was freed between the last successful launch and this
// one.
const session::StalePointer* stale_pointer_of(const session::ProcessRecord& record, const session::Operation& launch);

// If the likeliest candidate is such a launch, blames its node and names the memory that it pointed to.
void blame_stale_pointer(Failure& failure);

// Replaces the node by its launch, because there is better evidence than the pointer for which operation failed.
void forget_stale_pointer(Failure& failure);

}  // namespace cudadiag::analyse
