// The memory accesses of an executable graph's nodes, as recorded when the graph was made.
#pragma once

#include <cstdint>
#include <vector>

#include "races/access.h"

namespace cudadiag::races {

struct Graph {
  // Per access: `node` says whose (1 + its index), `parameter` and `function` as of any kernel.
  std::vector<Access> accesses;
  std::vector<std::vector<std::uint32_t>> successors;  // by node
  std::vector<bool> roots;                             // nodes that wait for none
  std::vector<std::uint64_t> waited, recorded;         // events, by nodes of theirs
  std::uint64_t order = 0;                             // wire::race::GraphOrder
  std::vector<bool> in_child;  // nodes of a graph within, ordered by way of the node that holds it
  bool looked_into = false;
  std::size_t parts = 0;  // that were reported: nodes, edges, accesses
};

// Whether neither of two nodes comes before the other.
bool are_parallel(const Graph& graph, std::uint32_t a, std::uint32_t b);

}  // namespace cudadiag::races
