#include <doctest/doctest.h>

#include <vector>

#include "record/graphs/graph_description.h"

using cudadiag::record::GraphEdge;
using cudadiag::record::NodeOrder;

namespace {

struct Ordered {
  bool any = false;
  std::vector<std::uint32_t> before;
};

Ordered nodes_before(std::uint32_t node, std::vector<std::uint32_t> parents, std::vector<GraphEdge> edges) {
  std::vector<NodeOrder> orders(parents.size());
  Ordered ordered;
  ordered.any = cudadiag::record::order_nodes(parents, edges, node, orders);
  for (std::uint32_t i = 0; i < orders.size(); ++i) {
    if (orders[i] == NodeOrder::before) ordered.before.push_back(i);
  }
  return ordered;
}

using List = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a node without dependencies has no nodes before it") {
  const Ordered ordered = nodes_before(0, {0, 0, 0}, {{0, 1}, {1, 2}});
  CHECK_FALSE(ordered.any);
  CHECK(ordered.before.empty());
}

TEST_CASE("dependencies are followed to their beginning, in any order of edges") {
  const List parents(5, 0);
  CHECK(nodes_before(3, parents, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}).before == List{0, 1, 2});
  CHECK(nodes_before(3, parents, {{3, 4}, {2, 3}, {1, 2}, {0, 1}}).before == List{0, 1, 2});
  CHECK(nodes_before(3, parents, {{1, 2}, {3, 4}, {0, 1}, {2, 3}}).before == List{0, 1, 2});
}

TEST_CASE("nodes of another branch and later nodes do not come before") {
  // Node 0 leads to nodes 1 and 2, which both lead to node 3.
  const std::vector<GraphEdge> edges = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  CHECK(nodes_before(1, List(4, 0), edges).before == List{0});
  CHECK(nodes_before(3, List(4, 0), edges).before == List{0, 1, 2});
}

TEST_CASE("a node in a child graph comes after the child graph's dependencies") {
  // Node 0 leads to child graph 1, which contains nodes 3 and 4 and leads to node 2.
  const List parents = {0, 0, 0, 2, 2};
  const std::vector<GraphEdge> edges = {{0, 1}, {1, 2}, {3, 4}};
  CHECK(nodes_before(4, parents, edges).before == List{0, 3});
  CHECK(nodes_before(3, parents, edges).before == List{0});
}

TEST_CASE("if a child graph comes before, all its nodes do, at any depth") {
  // Child graph 0 contains node 2 and child graph 3, which contains node 4. Child graph 0 leads to node 1.
  const List parents = {0, 0, 1, 1, 4};
  CHECK(nodes_before(1, parents, {{0, 1}, {2, 3}}).before == List{0, 2, 3, 4});
}
