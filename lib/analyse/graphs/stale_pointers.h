// Graphs that were launched after memory that they point to was freed. The recorder checks this at each launch.
#pragma once

#include <optional>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// For a process in which nothing failed: returns the first such launch. It is only suspected, because we cannot tell
// whether the node used its pointer.
std::optional<Failure> stale_replay(const session::Process& process);

// Returns the pointer that makes this launch likely to have failed with an illegal address; null if there is none. Its
// memory was freed since the graph was created or last launched, and live allocations do not cover all of it again.
//
// We do not see whether the kernel used the pointer. An eight-byte parameter is nevertheless enough evidence: it is a
// pointer, and the error comes at the first launch that can reach the freed memory. A word in a structure may be left
// over from an earlier call, so it counts only if the graph was launched with the same parameters while the memory was
// live. It is unlikely that a leftover points to exactly the memory freed between the last successful launch and this
// one.
const session::StalePointer* stale_pointer_of(const session::ProcessRecord& record, const session::Operation& launch);

// If the likeliest candidate launches such a graph, blames its node and names the memory that the node pointed to.
void blame_stale_pointer(Failure& failure);

// Replaces the node by its launch. For failures where other evidence shows which operation failed.
void forget_stale_pointer(Failure& failure);

}  // namespace cudadiag::analyse
