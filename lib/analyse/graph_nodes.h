// The node behind a graph launch that failed.
#pragma once

#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// The last step: goes from the launches of graphs among the candidates to the nodes that can have raised the error, as
// far as the recording says what the graphs consist of.
void name_graph_nodes(Failure& failure);

// Of each node, whether others lie in it: those of a child graph, or of the bodies of a conditional node as far as they
// are known. An empty one counts as not known.
std::vector<bool> nodes_that_hold_others(const session::Graph& graph);

// Whether the operation launches a graph one of whose kernels, as far as they are known, checks the program's data.
bool launches_checking_kernel(const session::Operation& operation, const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
