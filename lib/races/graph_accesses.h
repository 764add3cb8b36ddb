// What an executable graph's nodes do to memory, as the recorder wrote it down when the graph was made.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "races/access.h"

namespace cudadiag::races {

struct Graph {
  // Per access: `node` says whose (1 + its index), `parameter` and `function` as of any kernel.
  std::vector<Access> accesses;
  std::vector<std::vector<std::uint32_t>> successors;  // by node
  std::size_t roots = 0;                               // nodes that wait for none
};

// Null: it is not known.
using GraphsOf = std::function<const Graph*(std::uint32_t id)>;

// Whether neither of two nodes comes before the other.
bool are_parallel(const Graph& graph, std::uint32_t a, std::uint32_t b);

}  // namespace cudadiag::races
