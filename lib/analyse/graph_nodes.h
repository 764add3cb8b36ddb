// Finds the graph nodes that may have caused the failure of a graph launch, and launches of graphs that point to freed
// memory. The recorder checks for such pointers at each launch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyse/failure.h"
#include "session/process_record.h"
#include "session/session.h"

namespace cudadiag::analyse {

// Replaces each candidate that launches a graph with the nodes that may have raised the error, if the nodes of that
// graph are recorded. Call this after join_reruns().
void name_graph_nodes(Failure& failure);

// Returns whether the graph has conditional nodes with unknown bodies, which may contain any kernel.
bool hides_nodes(const session::Graph& graph);

// Returns whether this launch of a graph runs its nodes with the parameters that were recorded for them, as far as the
// recorder was told of changes.
bool keeps_nodes(const session::Operation& launch);

// Returns whether the operation launches a graph with a kernel whose name suggests that it checks the program's data.
bool launches_checking_kernel(const session::Operation& operation, const session::ProcessRecord& record);

// Returns the indices of the unfinished nodes whose dependencies have all finished. At least one of these nodes was
// running. `finished` has one word per node, which differs from 0 if the node has finished. A node without a marker
// counts as finished as soon as its dependencies have finished.
std::vector<std::uint32_t> nodes_under_way(const session::Graph& graph, std::span<const std::uint32_t> finished);

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
