#include "races/graph_accesses.h"

namespace cudadiag::races {
namespace {

bool reaches(const Graph& graph, std::uint32_t from, std::uint32_t to) {
  std::vector<bool> seen(graph.successors.size());
  std::vector<std::uint32_t> open{from};
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    if (node == to) return true;
    if (node >= seen.size() || seen[node]) continue;
    seen[node] = true;
    open.insert(open.end(), graph.successors[node].begin(), graph.successors[node].end());
  }
  return false;
}

}  // namespace

bool are_parallel(const Graph& graph, std::uint32_t a, std::uint32_t b) {
  return a != b && !reaches(graph, a, b) && !reaches(graph, b, a);
}

}  // namespace cudadiag::races
