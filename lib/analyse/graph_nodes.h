// Finds the graph nodes that may have caused the failure of a graph launch.
#pragma once

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Replaces each candidate that launches a graph with the nodes that may have raised the error, if the nodes of that
// graph are recorded. Call this after join_reruns().
void name_graph_nodes(Failure& failure);

// Returns whether the graph has conditional nodes with unknown bodies, which may contain any kernel.
bool hides_nodes(const session::Graph& graph);

// Returns whether the operation launches a graph with a kernel whose name suggests that it checks the program's data.
bool launches_checking_kernel(const session::Operation& operation, const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
