#include "analyse/graph_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyse/first_failure.h"
#include "analyse/suspects.h"
#include "wire/kernel_names.h"

namespace cudadiag::analyse {
namespace {

using session::Graph;
using session::GraphNode;
using session::ProcessRecord;

// CUgraphNodeType
constexpr std::uint8_t kKernel = 0, kCopy = 1, kMemset = 2;
constexpr std::uint32_t kAssert = 710;

bool can_raise(const GraphNode& node, std::uint32_t code) {
  return node.type == kKernel || ((node.type == kCopy || node.type == kMemset) && !only_kernels_raise(code));
}

const std::string* kernel_of(const GraphNode& node, const ProcessRecord& record) {
  if (node.function != 0) return session::by_id(record.functions, node.function);
  const auto* site = session::by_id(record.sites, node.site);
  return site == nullptr ? nullptr : session::by_id(record.functions, site->function);
}

// Nodes of one line; the first stands for them.
struct Group {
  std::uint32_t first = 0, size = 0;  // index of a node
  bool checks_data = false;
};

std::vector<Group> groups_of(const std::vector<std::uint32_t>& nodes, const Graph& graph, const ProcessRecord& record,
                             std::uint32_t code) {
  std::vector<Group> groups;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> by_line;  // of a node without one, by kernel
  for (const std::uint32_t index : nodes) {
    const GraphNode& node = graph.nodes[index];
    const auto [at, is_new] = by_line.try_emplace({node.site, node.site == 0 ? node.function : 0}, groups.size());
    if (is_new) {
      const std::string* kernel = code == kAssert ? kernel_of(node, record) : nullptr;
      groups.push_back({index, 0, kernel != nullptr && wire::checks_its_data(*kernel)});
    }
    ++groups[at->second].size;
  }
  std::stable_partition(groups.begin(), groups.end(), [](const Group& group) { return group.checks_data; });
  return groups;
}

Candidate candidate_of(const Candidate& launch, const Group& group, const Graph& graph) {
  Candidate candidate = launch;
  candidate.node = &graph.nodes[group.first];
  candidate.node_index = group.first + 1;
  candidate.nodes_of_graph = static_cast<std::uint32_t>(graph.nodes.size());
  candidate.nodes = group.size;
  if (group.checks_data) {
    candidate.because = "its kernel is one that checks the program's data and asserts";
  } else if (group.size > 1) {
    candidate.because = fmt::format("the first of {} nodes of this line", group.size);
  } else {
    candidate.because = fmt::format("node {} of {}", candidate.node_index, candidate.nodes_of_graph);
  }
  return candidate;
}

struct Nodes {
  const Graph* graph = nullptr;  // null: not known
  std::vector<std::uint32_t> able;
  std::vector<Group> groups;
};

Nodes nodes_of(const session::Operation& operation, const ProcessRecord& record, std::uint32_t code) {
  Nodes nodes;
  if (operation.kind != wire::operation::Kind::graph) return nodes;
  const Graph* graph = session::by_id(record.graphs, operation.graph);
  if (graph == nullptr || !graph->whole) return nodes;
  for (std::uint32_t i = 0; i < graph->nodes.size(); ++i) {
    if (can_raise(graph->nodes[i], code)) nodes.able.push_back(i);
  }
  nodes.groups = groups_of(nodes.able, *graph, record, code);
  if (!nodes.groups.empty()) nodes.graph = graph;
  return nodes;
}

// Of one launch that is known to be the one.
void name_in_one(Failure& failure, const Nodes& nodes) {
  const Candidate launch = failure.candidates.front();
  failure.candidates.clear();
  for (const Group& group : nodes.groups) {
    if (failure.candidates.size() < kMaxCandidates) {
      failure.candidates.push_back(candidate_of(launch, group, *nodes.graph));
    }
  }
  const std::size_t checking = static_cast<std::size_t>(
      std::count_if(nodes.groups.begin(), nodes.groups.end(), [](const Group& group) { return group.checks_data; }));
  if (nodes.able.size() == 1) {
    failure.kind = Kind::graph_node;
    failure.because += "; of that graph only one node can raise this error";
  } else if (nodes.groups.size() == 1) {
    failure.kind = Kind::graph_node;
    failure.grade = std::max(failure.grade, Grade::inferred);
    failure.because += fmt::format("; all {} nodes of that graph are of one line", nodes.able.size());
  } else if (checking == 1) {
    failure.kind = Kind::graph_node;
    failure.grade = std::max(failure.grade, Grade::inferred);
    failure.because += "; of that graph's nodes, the one whose kernel checks the program's data is the likeliest";
  } else {
    failure.because += fmt::format("; which of that graph's {} nodes it was is not known", nodes.able.size());
  }
  if (launch.operation->graph_flags & wire::operation::kGraphAltered) {
    failure.because += "; nodes were given other parameters since: kernels are those of the capture";
  }
}

}  // namespace

void name_graph_nodes(Failure& failure) {
  const ProcessRecord& record = failure.process->record;
  if (failure.candidates.size() == 1) {
    const Nodes nodes = nodes_of(*failure.candidates.front().operation, record, failure.code);
    if (nodes.graph != nullptr) name_in_one(failure, nodes);
    return;
  }
  for (Candidate& candidate : failure.candidates) {
    const Nodes nodes = nodes_of(*candidate.operation, record, failure.code);
    if (nodes.groups.size() != 1) continue;
    const std::string because = candidate.because;
    candidate = candidate_of(candidate, nodes.groups.front(), *nodes.graph);
    candidate.because = because;
    if (&candidate == &failure.candidates.front()) failure.kind = Kind::graph_node;
  }
}

}  // namespace cudadiag::analyse
