// Graphs as plain data: copies of them, and the order in which their nodes run.
#pragma once

#include "objects.h"

namespace sim {

// Copies `from`'s nodes and edges, child graphs too, into the empty `to`, and announces each.
void copy_graph(CUgraph_st& from, CUgraph_st& to);
// One after another: after all that they depend on, otherwise in the order of their creation; child graphs in place.
std::vector<CUgraphExec_st::Step> steps_of(CUgraph_st& graph);
std::uint32_t next_graph_id();

}  // namespace sim
