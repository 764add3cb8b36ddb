#include <doctest/doctest.h>

#include "analyse/graph_nodes.h"
#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

session::Graph graph(std::initializer_list<std::uint8_t> types, std::initializer_list<session::GraphEdge> edges) {
  session::Graph made;
  for (const std::uint8_t type : types) made.nodes.emplace_back().type = type;
  made.edges = edges;
  return made;
}

using Words = std::vector<std::uint32_t>;
using Nodes = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("in a chain, the first node that has not finished was running") {
  const auto chain = graph({kKernel, kKernel, kKernel}, {{0, 1}, {1, 2}});
  CHECK(nodes_under_way(chain, Words{0, 0, 0}) == Nodes{0});
  CHECK(nodes_under_way(chain, Words{1, 0, 0}) == Nodes{1});
  CHECK(nodes_under_way(chain, Words{1, 1, 1}).empty());
}

TEST_CASE("each of several parallel branches may have been running") {
  const auto fork = graph({kKernel, kKernel, kKernel, kKernel}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  CHECK(nodes_under_way(fork, Words{1, 0, 0, 0}) == Nodes{1, 2});
  CHECK(nodes_under_way(fork, Words{1, 0, 1, 0}) == Nodes{1});
  CHECK(nodes_under_way(fork, Words{1, 1, 1, 0}) == Nodes{3});
}

TEST_CASE("a node without a marker may have finished as soon as it could begin") {
  const auto host = graph({kKernel, kHost, kKernel}, {{0, 1}, {1, 2}});
  CHECK(nodes_under_way(host, Words{0, 0, 0}) == Nodes{0});
  CHECK(nodes_under_way(host, Words{1, 0, 0}) == Nodes{2});
}

TEST_CASE("a child graph is between the nodes around it") {
  // Node 0 leads to child graph 1, whose node 3 leads to node 4. The child graph leads to node 2.
  auto nested = graph({kKernel, kChild, kKernel, kKernel, kKernel}, {{0, 1}, {1, 2}, {3, 4}});
  nested.nodes[3].parent = nested.nodes[4].parent = 2;
  CHECK(nodes_under_way(nested, Words{0, 0, 0, 0, 0}) == Nodes{0});
  CHECK(nodes_under_way(nested, Words{1, 0, 0, 0, 0}) == Nodes{3});
  CHECK(nodes_under_way(nested, Words{1, 0, 0, 1, 0}) == Nodes{4});
  CHECK(nodes_under_way(nested, Words{1, 0, 0, 1, 1}) == Nodes{2});
}

TEST_CASE("damaged graphs are handled too") {
  CHECK(nodes_under_way(graph({kKernel, kKernel}, {{0, 1}, {1, 0}}), Words{0, 0}).empty());
  CHECK(nodes_under_way(graph({kKernel}, {}), Words{}).empty());
}
