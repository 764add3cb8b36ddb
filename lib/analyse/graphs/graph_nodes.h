// The node that caused the failure of a graph launch.
#pragma once

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Replaces graph launches among the candidates by the nodes that may have raised the error, as far as the contents of
// the graphs are recorded. Call this after join_reruns().
void name_graph_nodes(Failure& failure);

// Returns whether the graph has conditional nodes with unknown bodies, which may contain any kernel.
bool hides_nodes(const session::Graph& graph);

// Returns whether the operation launches a graph with a kernel that is known to check the program's data.
bool launches_checking_kernel(const session::Operation& operation, const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
