// The node that caused the failure of a graph launch.
#pragma once

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// The last step: goes from the launches of graphs among the candidates to the nodes that can have raised the error, as
// far as the recording says what the graphs consist of.
void name_graph_nodes(Failure& failure);

// Whether it has conditional nodes whose bodies are not known: any kernel may be in them.
bool hides_nodes(const session::Graph& graph);

// Whether the operation launches a graph one of whose kernels, as far as they are known, checks the program's data.
bool launches_checking_kernel(const session::Operation& operation, const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
