// The memory accesses of an executable graph's nodes, as recorded when the graph was created.
#pragma once

#include <cstdint>
#include <vector>

#include "races/access.h"

namespace cudadiag::races {

struct Graph {
  // In each access, `node` is 1 + the index of its node. `parameter` and `function` are those of the node's kernel.
  std::vector<Access> accesses;
  std::vector<std::vector<std::uint32_t>> successors;  // indexed by node
  std::vector<bool> roots;                             // indexed by node: true if the node waits for no other node
  std::vector<std::uint64_t> waited, recorded;         // the events that nodes of the graph wait for and record
  std::uint64_t order = 0;                             // wire::race::GraphOrder
  std::vector<bool> in_child;  // indexed by node: true if it is in a child graph, and so ordered like the node that
                               // contains the child graph
  bool looked_into = false;
  std::size_t parts = 0;  // number of nodes, edges and accesses that were reported
};

bool are_parallel(const Graph& graph, std::uint32_t a, std::uint32_t b);

}  // namespace cudadiag::races
