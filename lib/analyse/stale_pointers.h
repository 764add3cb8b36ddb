// Finds launches of graphs that point to freed memory. The recorder checks for such pointers at each launch.
#pragma once

#include <cstdint>
#include <optional>

#include "analyse/failure.h"
#include "session/process_record.h"
#include "session/session.h"

namespace cudadiag::analyse {

// For a process in which nothing failed: returns the first launch of a graph that points to freed memory. The failure
// is only suspected, because we cannot tell whether the launch used the pointer.
std::optional<Failure> stale_replay(const session::Process& process);

// Returns the pointer that probably made this launch fail with an illegal address; null if there is none. Its memory
// was freed since the graph was created or last launched, and live allocations do not cover all of it.
//
// We cannot tell whether the kernel used the pointer. A parameter of eight bytes is enough evidence. It is a pointer,
// and the error appears at the first launch that can access the freed memory. A word in a structure may be left over
// from an earlier call. It counts only if the graph was launched with the same parameters while the memory was live.
// The memory was then freed between the last successful launch and this one. This is unlikely for a leftover.
const session::StalePointer* stale_pointer_of(const session::ProcessRecord& record, const session::Operation& launch);

// Returns whether the error may be an illegal address. In a run with core dumps, 719 stands for any exception.
bool may_be_illegal_address(std::uint32_t code, const session::ProcessRecord& record);

// If the likeliest candidate launches a graph that points to freed memory, makes the node with the stale pointer the
// first candidate and sets `stale`.
void blame_stale_pointer(Failure& failure);

// The node with the stale pointer, in the launch of the first candidate; its `node` is null if the graph is not known.
Candidate node_of(const Failure& failure, const session::StalePointer& stale);

// Makes this node the only candidate. Requires node_of() to be known, and proof that its kernel got the pointer.
void blame_node(Failure& failure, const session::StalePointer& stale);

// Undoes blame_stale_pointer(), for failures where other evidence shows which operation failed.
void forget_stale_pointer(Failure& failure);

}  // namespace cudadiag::analyse
