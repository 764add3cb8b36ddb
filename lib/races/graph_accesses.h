// The memory accesses of an executable graph's nodes, as recorded when the graph was created.
#pragma once

#include <cstdint>
#include <vector>

#include "races/access.h"

namespace cudadiag::races {

struct Graph {
  // In each access `node` is 1 + the index of its node; `parameter` and `function` are as for any kernel.
  std::vector<Access> accesses;
  std::vector<std::vector<std::uint32_t>> successors;  // by node
  std::vector<bool> roots;                             // nodes that wait for no other node
  std::vector<std::uint64_t> waited, recorded;         // events that nodes of the graph wait for and record
  std::uint64_t order = 0;                             // wire::race::GraphOrder
  std::vector<bool> in_child;  // nodes of a child graph, which are ordered through the node that contains it
  bool looked_into = false;
  std::size_t parts = 0;  // number of reported nodes, edges and accesses
};

// Returns whether neither of two nodes comes before the other.
bool are_parallel(const Graph& graph, std::uint32_t a, std::uint32_t b);

}  // namespace cudadiag::races
