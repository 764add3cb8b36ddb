#include "analyse/graph_nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "analyse/site_keys.h"
#include "wire/cuda_codes.h"
#include "wire/name_patterns.h"
#include "wire/operation.h"

namespace cudadiag::analyse {
namespace {

using session::Graph;
using session::GraphNode;
using session::ProcessRecord;

namespace graph_node = wire::graph_node;

// Returns, for each node, whether it contains other recorded nodes, in a child graph or in the bodies of a conditional
// node. Empty bodies cannot be distinguished from unknown ones.
std::vector<bool> nodes_that_hold_others(const Graph& graph) {
  std::vector<bool> holders(graph.nodes.size());
  for (const GraphNode& node : graph.nodes) {
    if (node.parent != 0) holders[node.parent - 1] = true;
  }
  return holders;
}

// A conditional node whose bodies are unknown stands for all nodes in them, so it can raise any error.
bool can_raise(const GraphNode& node, bool holds_others, std::uint32_t code) {
  if (node.type == graph_node::kConditional) return !holds_others;
  return node.type == graph_node::kKernel ||
         (graph_node::is_marked(node.type) && !wire::cuda::has(code, wire::cuda::only_kernels));
}

const std::string* kernel_of(const GraphNode& node, const ProcessRecord& record) {
  return session::by_id(record.functions, session::kernel_id(record, node));
}

bool checks_data(const GraphNode& node, const ProcessRecord& record) {
  const std::string* kernel = kernel_of(node, record);
  return kernel != nullptr && wire::checks_its_data(*kernel);
}

// Nodes whose parameters were set at the same line. The first node represents the group.
struct Group {
  std::uint32_t first = 0, size = 0;  // first: index of the first node
  std::uint32_t changed = 0;
  bool checks_data = false, runs_kernel = false, made_apart = false, alike = true, same_shape = true;
};

std::vector<Group> groups_of(const std::vector<std::uint32_t>& nodes, const Graph& graph,
                             const session::Operation& launch, const ProcessRecord& record, std::uint32_t code) {
  std::vector<Group> groups;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> by_line;  // nodes without a site are grouped by kernel
  for (const std::uint32_t index : nodes) {
    const GraphNode& node = graph.nodes[index];
    const std::uint32_t changed = session::changed_at(record, launch, index);
    const std::uint32_t site = changed != 0 ? changed : node.site;
    const auto [at, is_new] = by_line.try_emplace({site, site == 0 ? node.function : 0}, groups.size());
    if (is_new) {
      groups.push_back({index, 0, changed, code == wire::cuda::kAssert && checks_data(node, record),
                        node.type == graph_node::kKernel});
    }
    Group& group = groups[at->second];
    ++group.size;
    const GraphNode& first = graph.nodes[group.first];
    group.made_apart |= node.site != first.site;
    group.alike &= node.type == first.type && node.function == first.function;
    group.same_shape &= node.grid == first.grid && node.block == first.block && node.shared_bytes == first.shared_bytes;
  }
  std::stable_partition(groups.begin(), groups.end(), [](const Group& group) { return group.checks_data; });
  // Copies and memsets wait for nothing, so they are the least likely to hang.
  if (code == wire::cuda::kSuccess) {
    std::stable_partition(groups.begin(), groups.end(), [](const Group& group) { return group.runs_kernel; });
  }
  return groups;
}

Candidate candidate_of(const Candidate& launch, const Group& group, const Graph& graph) {
  Candidate candidate = launch;
  candidate.node = &graph.nodes[group.first];
  candidate.node_index = group.first + 1;
  candidate.nodes_of_graph = static_cast<std::uint32_t>(graph.nodes.size());
  candidate.nodes = group.size;
  candidate.changed = group.changed;
  candidate.made_apart = group.made_apart;
  candidate.alike = group.alike;
  candidate.same_shape = group.same_shape;
  if (group.checks_data) {
    candidate.because = "its kernel checks the program's data with assertions";
  } else if (group.size > 1) {
    candidate.because = fmt::format("the first of {} nodes of this line", group.size);
  } else {
    candidate.because = fmt::format("node {} of {}", candidate.node_index, candidate.nodes_of_graph);
  }
  return candidate;
}

struct Nodes {
  const Graph* graph = nullptr;  // null if unknown
  std::vector<std::uint32_t> able;
  std::vector<Group> groups;
  bool watched = false;  // `able` contains only nodes that had started but not finished
};

Nodes nodes_of(const session::Operation& operation, const ProcessRecord& record, std::uint32_t code) {
  Nodes nodes;
  if (operation.kind != wire::operation::Kind::graph) return nodes;
  const Graph* graph = session::by_id(record.graphs, operation.graph);
  if (graph == nullptr || !graph->whole) return nodes;
  const std::vector<bool> holders = nodes_that_hold_others(*graph);
  for (std::uint32_t i = 0; i < graph->nodes.size(); ++i) {
    if (can_raise(graph->nodes[i], holders[i], code)) nodes.able.push_back(i);
  }
  nodes.groups = groups_of(nodes.able, *graph, operation, record, code);
  if (!nodes.groups.empty()) nodes.graph = graph;
  return nodes;
}

bool are_alike(const Graph& a, const ProcessRecord& of_a, const Graph& b, const ProcessRecord& of_b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                    [&](const GraphNode& left, const GraphNode& right) {
                      const std::string *one = kernel_of(left, of_a), *other = kernel_of(right, of_b);
                      return left.type == right.type && (one == nullptr) == (other == nullptr) &&
                             (one == nullptr || *one == *other);
                    });
}

// If a rerun proved only the line: finds the launches that ran the graph which failed in the rerun. A line may launch
// several graphs.
class LaunchedAgain {
 public:
  explicit LaunchedAgain(const Failure& failure)
      : again_(*failure.again),
        here_(failure.process->record),
        there_(failure.again_process->record),
        keys_here_(here_),
        keys_there_(there_) {}

  // Returns whether `launch` runs the graph that failed in the rerun, with nodes that were created and changed at the
  // same lines.
  bool is(const session::Operation& launch) {
    const auto [known, is_new] = known_.try_emplace({launch.graph, launch.graph_changed});
    if (is_new) known->second = look(launch);
    return known->second;
  }

 private:
  bool look(const session::Operation& launch) const {
    const Graph *one = session::by_id(here_.graphs, launch.graph), *other = session::by_id(there_.graphs, again_.graph);
    if (one == nullptr || other == nullptr || !other->whole || !are_alike(*one, here_, *other, there_)) return false;
    for (std::uint32_t node = 0; node < one->nodes.size(); ++node) {
      const std::uint32_t site = session::site_at(here_, launch, *one, node);
      const std::uint32_t there = session::site_at(there_, again_, *other, node);
      const auto key = keys_there_.of_site(there), lines = keys_there_.of_own_lines(there);
      if (keys_here_.of_site(site) != key && keys_here_.of_hooked_site(site) != key &&
          (lines == 0 || keys_here_.of_own_lines(site) != lines)) {
        return false;
      }
    }
    return true;
  }

  const session::Operation& again_;
  const ProcessRecord &here_, &there_;
  const SiteKeys keys_here_, keys_there_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> known_;
};

// Keeps only the nodes that were running when the launch failed, if a rerun watched them. Nodes are matched by number,
// so the graph must be the same in both runs.
void leave_those_under_way(Nodes& nodes, const session::Operation& first_launch, const Failure& failure) {
  const auto& launch = failure.again == nullptr ? first_launch : *failure.again;
  const ProcessRecord& record = failure.process->record;
  const ProcessRecord& there = failure.again == nullptr ? record : failure.again_process->record;
  const Graph* graph = session::by_id(there.graphs, launch.graph);
  const std::size_t first = launch.graph_words;  // from 1
  if ((launch.flags & wire::operation::kAlone) == 0 || first == 0 || graph == nullptr || !graph->whole ||
      first - 1 + graph->nodes.size() > there.graph_words.size() || !are_alike(*nodes.graph, record, *graph, there)) {
    return;
  }
  const auto words = std::span(there.graph_words).subspan(first - 1, graph->nodes.size());
  std::vector<std::uint32_t> left;
  for (const std::uint32_t node : nodes_under_way(*graph, words)) {
    if (std::ranges::binary_search(nodes.able, node)) left.push_back(node);
  }
  if (left.empty()) return;
  nodes.able = std::move(left);
  nodes.groups = groups_of(nodes.able, *nodes.graph, first_launch, record, failure.code);
  nodes.watched = true;
}

// For a single candidate: replaces the launch with its nodes.
void name_in_one(Failure& failure, const Nodes& nodes) {
  const Candidate launch = failure.candidates.front();
  failure.candidates.clear();
  for (const Group& group : nodes.groups) {
    if (failure.candidates.size() < kMaxCandidates) {
      failure.candidates.push_back(candidate_of(launch, group, *nodes.graph));
    }
  }
  const std::size_t checking = static_cast<std::size_t>(std::ranges::count_if(nodes.groups, &Group::checks_data));
  if (nodes.watched && nodes.able.size() == 1) {
    failure.kind = Kind::graph_node;
    failure.evidence.add(
        fmt::format("node {} of its graph had started but did not finish: all nodes before it had finished",
                    nodes.able.front() + 1));
  } else if (nodes.able.size() == 1) {
    failure.kind = Kind::graph_node;
    failure.evidence.add("only one node of that graph can raise this error");
  } else if (nodes.groups.size() == 1) {
    failure.kind = Kind::graph_node;
    failure.evidence.add(Fact::weaker, fmt::format("all {} nodes of that graph come from one line", nodes.able.size()));
  } else if (checking == 1) {
    failure.kind = Kind::graph_node;
    failure.evidence.add(Fact::weaker,
                         "the likeliest node of that graph is the one whose kernel checks the program's data");
  } else if (nodes.watched) {
    failure.evidence.add(fmt::format("{} nodes of its graph may have been running", nodes.able.size()));
  } else {
    failure.evidence.add(fmt::format("it is unknown which of that graph's {} nodes failed", nodes.able.size()));
  }
  if (launch.operation->graph_flags & wire::operation::kGraphAltered) {
    failure.evidence.add(
        "the parameters of some nodes may have changed since the capture, but the report shows the kernels that were "
        "captured");
  }
  if (launch.operation->graph_flags & wire::operation::kGraphUntold) {
    failure.evidence.add(
        Fact::weaker,
        "calls or kernels may have changed the parameters of some nodes, and not all of these changes were recorded");
  }
}

}  // namespace

bool keeps_nodes(const session::Operation& launch) {
  return (launch.graph_flags & (wire::operation::kGraphAltered | wire::operation::kGraphUntold)) == 0;
}

bool hides_nodes(const Graph& graph) {
  const std::vector<bool> holders = nodes_that_hold_others(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].type == graph_node::kConditional && !holders[i]) return true;
  }
  return false;
}

bool launches_checking_kernel(const session::Operation& operation, const ProcessRecord& record) {
  if (operation.kind != wire::operation::Kind::graph) return false;
  const Graph* graph = session::by_id(record.graphs, operation.graph);
  return graph != nullptr &&
         std::ranges::any_of(graph->nodes, [&](const GraphNode& node) { return checks_data(node, record); });
}

void name_graph_nodes(Failure& failure) {
  if (failure.stale != nullptr) return;
  const ProcessRecord& record = failure.process->record;
  std::optional<LaunchedAgain> elsewhere;
  if (failure.again != nullptr && failure.call_not_known) elsewhere.emplace(failure);
  const auto nodes_in = [&](const session::Operation& launch) {
    return elsewhere && !elsewhere->is(launch) ? Nodes{} : nodes_of(launch, record, failure.code);
  };
  if (failure.candidates.size() == 1) {
    Nodes nodes = nodes_in(*failure.candidates.front().operation);
    if (nodes.graph == nullptr) return;
    leave_those_under_way(nodes, *failure.candidates.front().operation, failure);
    name_in_one(failure, nodes);
    return;
  }
  for (Candidate& candidate : failure.candidates) {
    Nodes nodes = nodes_in(*candidate.operation);
    // The line issued several launches, and a rerun watched the nodes of one of them.
    if (nodes.graph != nullptr && failure.again != nullptr) leave_those_under_way(nodes, *candidate.operation, failure);
    const bool untold = (candidate.operation->graph_flags & wire::operation::kGraphUntold) != 0;
    if (nodes.groups.size() != 1 || untold) continue;
    const std::string because = candidate.because;
    candidate = candidate_of(candidate, nodes.groups.front(), *nodes.graph);
    candidate.because = because;
    if (&candidate == &failure.candidates.front()) failure.kind = Kind::graph_node;
  }
}

namespace {

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
