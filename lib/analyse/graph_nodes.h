// Finds the graph nodes that may have caused the failure of a graph launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyse/failure.h"
#include "session/process_record.h"

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

}  // namespace cudadiag::analyse
