#include "analyse/graphs/graph_progress.h"

#include "wire/graph_node.h"

namespace cudadiag::analyse {
namespace {

namespace graph_node = wire::graph_node;
using session::Graph;

// Represents the graph as points that depend on each other. A node that contains a child graph has two points, for its
// beginning and its end; any other node has one. Successors follow a node's end point, and its child nodes lie between
// its two points.
class Points {
 public:
  Points(const Graph& graph, std::span<const std::uint32_t> finished)
      : graph_(graph), finished_(finished), size_(graph.nodes.size()), next_(2 * size_), pending_(2 * size_) {
    std::vector<bool> entered(size_);
    for (const session::GraphEdge& edge : graph.edges) {
      follow(end_of(edge.from), edge.to);
      entered[edge.to] = true;
    }
    for (std::size_t node = 0; node < size_; ++node) {
      const std::uint32_t parent = graph.nodes[node].parent;
      if (parent != 0 && !entered[node]) follow(parent - 1, node);
      if (parent != 0) follow(end_of(node), end_of(parent - 1));
      if (end_of(node) != node) follow(node, end_of(node));
    }
  }

  std::vector<std::uint32_t> under_way() {
    std::vector<std::size_t> done;
    for (std::size_t point = 0; point < pending_.size(); ++point) {
      if (marked(point) ? has_finished(point) : pending_[point] == 0) done.push_back(point);
    }
    while (!done.empty()) {
      const std::size_t point = done.back();
      done.pop_back();
      for (const std::size_t after : next_[point]) {
        if (--pending_[after] == 0 && !marked(after)) done.push_back(after);
      }
    }
    std::vector<std::uint32_t> found;
    for (std::size_t node = 0; node < size_; ++node) {
      if (marked(node) && !has_finished(node) && pending_[node] == 0) found.push_back(static_cast<std::uint32_t>(node));
    }
    return found;
  }

 private:
  std::size_t end_of(std::size_t node) const {
    return graph_.nodes[node].type == graph_node::kChildGraph ? size_ + node : node;
  }
  bool marked(std::size_t point) const { return point < size_ && graph_node::is_marked(graph_.nodes[point].type); }
  bool has_finished(std::size_t point) const { return finished_[point] != 0; }
  void follow(std::size_t from, std::size_t to) {
    next_[from].push_back(to);
    ++pending_[to];
  }

  const Graph& graph_;
  std::span<const std::uint32_t> finished_;
  std::size_t size_;
  std::vector<std::vector<std::size_t>> next_;
  std::vector<std::uint32_t> pending_;  // how many predecessors of each point are unfinished
};

}  // namespace

std::vector<std::uint32_t> nodes_under_way(const Graph& graph, std::span<const std::uint32_t> finished) {
  if (finished.size() != graph.nodes.size()) return {};
  return Points(graph, finished).under_way();
}

}  // namespace cudadiag::analyse
