#include "record/graphs/nodes_before.h"

#include <algorithm>

namespace cudadiag::record {

namespace {

using Orders = std::span<NodeOrder>;

bool take(const GraphEdge& edge, Orders orders) {
  if (orders[edge.to] == NodeOrder::apart || orders[edge.from] != NodeOrder::apart) return false;
  orders[edge.from] = NodeOrder::before;
  return true;
}

// If a child graph comes before the given node, all nodes of the child graph do, too. They have higher numbers than the
// node that contains them, so one pass suffices.
void take_children(std::span<const std::uint32_t> parents, Orders orders) {
  for (std::size_t node = 0; node < parents.size(); ++node) {
    const bool held = parents[node] != 0 && orders[parents[node] - 1] == NodeOrder::before;
    if (held && orders[node] == NodeOrder::apart) orders[node] = NodeOrder::before;
  }
}

}  // namespace

bool order_nodes(std::span<const std::uint32_t> parents, std::span<const GraphEdge> edges, std::uint32_t node,
                 Orders orders) {
  std::fill(orders.begin(), orders.end(), NodeOrder::apart);
  orders[node] = NodeOrder::itself;
  for (std::uint32_t at = node; parents[at] != 0; at = parents[at] - 1) orders[parents[at] - 1] = NodeOrder::itself;
  // Visits the edges in both directions. Edges are usually in the order of their nodes, so few rounds are needed.
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) changed |= take(*edge, orders);
    for (const GraphEdge& edge : edges) changed |= take(edge, orders);
  }
  take_children(parents, orders);
  return std::find(orders.begin(), orders.end(), NodeOrder::before) != orders.end();
}

}  // namespace cudadiag::record
