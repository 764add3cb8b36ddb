// Graphs as plain data: copies of them, and the order in which their nodes run.
#pragma once

#include "objects.h"

namespace sim {

// Copies the nodes and edges of `from`, and its child graphs, into the empty `to`. Reports each new node to CUPTI's
// subscriber.
void copy_graph(CUgraph_st& from, CUgraph_st& to);
// Returns the nodes in dependency order, and nodes that do not depend on each other in creation order. Expands child
// graphs in place.
std::vector<CUgraphExec_st::Step> steps_of(CUgraph_st& graph);
std::uint32_t next_graph_id();

}  // namespace sim
