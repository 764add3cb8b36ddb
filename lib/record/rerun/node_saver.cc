#include "record/rerun/node_saver.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "record/output/area_map.h"
#include "record/rerun/exclusive_wait.h"
#include "wire/operation.h"

namespace cudadiag::record {

namespace graph_node = wire::graph_node;

namespace {

bool can_be_switched(std::uint8_t type) {
  return type == graph_node::kKernel || type == graph_node::kCopy || type == graph_node::kMemset;
}

bool lies_in_conditional(const FollowedGraph& graph) {
  for (std::uint32_t at = graph.node; graph.parents()[at] != 0; at = graph.parents()[at] - 1) {
    if (graph.types()[graph.parents()[at] - 1] == graph_node::kConditional) return true;
  }
  return false;
}

// Returns why the graph cannot be launched in two parts, or null if it can.
const char* obstacle(const FollowedGraph& graph) {
  for (const std::uint8_t type : graph.types()) {
    if (can_be_switched(type) || type == CU_GRAPH_NODE_TYPE_EMPTY || type == CU_GRAPH_NODE_TYPE_GRAPH) continue;
    switch (type) {
      case CU_GRAPH_NODE_TYPE_HOST:
        return "a graph's failing node was not saved: it depends on nodes that cannot run separately from the graph's "
               "host functions";
      case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return "a graph's failing node was not saved: it depends on nodes that cannot run separately from the graph's "
               "events";
      case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return "a graph's failing node was not saved: it depends on nodes that cannot run separately from the graph's "
               "allocations";
      case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return "a graph's failing node was not saved: it depends on nodes that cannot run separately from the graph's "
               "conditional nodes";
      default:
        return "a graph's failing node was not saved: it depends on nodes that cannot run separately from other work "
               "in the graph";
    }
  }
  return graph.named ? nullptr
                     : "a graph's failing node was not saved: the graph was updated, and the node could not be "
                       "identified afterwards";
}

}  // namespace

NodeSaver* NodeSaver::make(const FollowedGraphs::Sources& sources, LaunchSaver& saver) {
  if (!may_take_address_space(sizeof(NodeSaver))) return nullptr;
  void* memory =
      mmap(nullptr, sizeof(NodeSaver), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) NodeSaver(sources, saver);
}

void NodeSaver::save(CUgraphExec exec, CUstream stream, ExclusiveWait& exclusive_wait) {
  const Uncancelled uncancelled;
  const RelaxedCapture relaxed(driver_);
  const FollowedGraph* graph = graphs_.find(exec);
  if (graph == nullptr) return;
  if (lies_in_conditional(*graph)) {
    return saver_.give_up(
        "a graph's failing node was not saved: it is in a conditional node, which may run it several times");
  }
  if (!graph->launch().known) return saver_.give_up("a graph's failing node was not saved: its parameters are unknown");
  if (run_before(*graph, stream, exclusive_wait)) saver_.save_node(graph->launch());
}

bool NodeSaver::run_before(const FollowedGraph& graph, CUstream stream, ExclusiveWait& exclusive_wait) {
  const auto refuse = [&](const char* why) { return saver_.give_up(why), false; };
  if (!order_nodes(graph.parents(), graph.edges(), graph.node, {orders_.data(), graph.count})) return true;
  if (const char* why = obstacle(graph)) return refuse(why);
  const bool can = api_.graph_node_set_enabled != nullptr && api_.graph_launch != nullptr && read_states(graph);
  if (!can || !switch_nodes(graph, [](NodeOrder order) { return order == NodeOrder::before; })) {
    if (can) switch_nodes(graph, [](NodeOrder) { return true; });
    return refuse(
        "a graph's failing node was not saved: the driver could not disable the nodes on which it does not depend");
  }
  const CUresult launched = api_.graph_launch(graph.exec, stream);
  divided_ = &graph;
  if (launched != CUDA_SUCCESS) {
    restore();
    return refuse("a graph's failing node was not saved: the nodes on which it depends could not be launched");
  }
  const CUresult finished = exclusive_wait.finish(stream);
  switch_nodes(graph, [](NodeOrder order) { return order != NodeOrder::before; });
  return finished == CUDA_SUCCESS ||
         refuse("a graph's failing node was not saved: the nodes on which it depends did not finish");
}

void NodeSaver::restore() {
  if (divided_ == nullptr) return;
  const Uncancelled uncancelled;
  const RelaxedCapture relaxed(driver_);
  switch_nodes(*std::exchange(divided_, nullptr), [](NodeOrder) { return true; });
}

bool NodeSaver::read_states(const FollowedGraph& graph) {
  if (api_.graph_node_get_enabled == nullptr) return false;
  for (std::size_t node = 0; node < graph.count; ++node) {
    unsigned enabled = 0;
    if (!can_be_switched(graph.types()[node])) continue;
    if (api_.graph_node_get_enabled(graph.exec, graph.handles()[node], &enabled) != CUDA_SUCCESS) return false;
    enabled_[node] = enabled != 0;
  }
  return true;
}

// Does not touch nodes that the program has disabled.
template <typename Wanted>
bool NodeSaver::switch_nodes(const FollowedGraph& graph, Wanted wanted) {
  bool all = true;
  for (std::size_t node = 0; node < graph.count; ++node) {
    if (!can_be_switched(graph.types()[node]) || !enabled_[node]) continue;
    const unsigned enabled = wanted(orders_[node]) ? 1 : 0;
    if (api_.graph_node_set_enabled(graph.exec, graph.handles()[node], enabled) != CUDA_SUCCESS) all = false;
  }
  return all;
}

namespace intern = wire::intern;

// Each object has its own pages, which also contain the arrays to which its members point.
struct FollowedGraph::Parts {
  NodeLaunch launch;
  std::size_t bytes;  // size of these pages
  CUgraphNode* handles;
  std::uint32_t* parents;
  GraphEdge* edges;
  std::uint8_t* types;
};

std::span<const CUgraphNode> FollowedGraph::handles() const { return {parts->handles, count}; }
std::span<const std::uint8_t> FollowedGraph::types() const { return {parts->types, count}; }
std::span<const std::uint32_t> FollowedGraph::parents() const { return {parts->parents, count}; }
std::span<const GraphEdge> FollowedGraph::edges() const { return {parts->edges, edge_count}; }
const NodeLaunch& FollowedGraph::launch() const { return parts->launch; }

namespace {

using Parts = FollowedGraph::Parts;

Parts* make_parts(std::size_t nodes, std::size_t edges) {
  const std::size_t bytes =
      sizeof(Parts) + nodes * (sizeof(CUgraphNode) + sizeof(std::uint32_t) + 1) + edges * sizeof(GraphEdge) + 16;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* parts = static_cast<Parts*>(memory);
  parts->bytes = bytes;
  parts->handles = reinterpret_cast<CUgraphNode*>(parts + 1);
  parts->edges = reinterpret_cast<GraphEdge*>(parts->handles + nodes);
  parts->parents = reinterpret_cast<std::uint32_t*>(parts->edges + edges);
  parts->types = reinterpret_cast<std::uint8_t*>(parts->parents + nodes);
  return parts;
}

std::uint8_t type_of(GraphDescription& description, std::size_t node) {
  return wire::load(description.record(node), intern::kNodeType);
}

// Returns true if the new source graph has the same node types and edges as the first one. An update with such a graph
// keeps the order of the nodes.
bool is_alike(const FollowedGraph& graph, GraphDescription& description) {
  for (std::size_t node = 0; node < graph.count; ++node) {
    if (graph.types()[node] != type_of(description, node)) return false;
  }
  const auto same = [](const GraphEdge& a, const GraphEdge& b) { return a.from == b.from && a.to == b.to; };
  return std::equal(graph.edges().begin(), graph.edges().end(), description.edges().begin(), description.edges().end(),
                    same);
}

}  // namespace

const FollowedGraph* FollowedGraphs::find(CUgraphExec exec) const {
  const LockGuard lock(mutex_);
  const auto known = std::find_if(graphs_.begin(), graphs_.end(), [&](const auto& each) { return each.exec == exec; });
  return exec == nullptr || known == graphs_.end() || known->node == known->count ? nullptr : &*known;
}

// Callers must hold the lock.
FollowedGraph* FollowedGraphs::place_of(CUgraphExec exec) {
  const auto known = std::find_if(graphs_.begin(), graphs_.end(), [&](const auto& each) { return each.exec == exec; });
  return known == graphs_.end() ? nullptr : &*known;
}

void FollowedGraphs::described(const GraphCall& call, GraphDescription& description) {
  const LockGuard lock(mutex_);
  const RelaxedCapture relaxed(sources_.driver);
  const bool fits = std::any_of(sources_.nodes.begin(), sources_.nodes.end(),
                                [&](const auto& node) { return node.count == description.size(); });
  FollowedGraph* graph = nullptr;
  if (call.what == GraphCall::What::instantiate) {
    // Drops an earlier graph with this handle. It may have been destroyed by a call that the recorder did not see.
    if (FollowedGraph* old = place_of(*call.made)) drop(*old);
    if (!fits) return;
    made(call, description);
    graph = place_of(*call.made);
  } else {
    graph = place_of(call.exec);
    if (graph != nullptr) graph->named = graph->named && fits && is_alike(*graph, description);
  }
  if (graph != nullptr) choose_node(*graph, description);
}

void FollowedGraphs::made(const GraphCall& call, const GraphDescription& description) {
  FollowedGraph* graph = place_of(nullptr);
  Parts* parts = graph == nullptr ? nullptr : make_parts(description.size(), description.edges().size());
  if (parts == nullptr) return;
  *graph = {*call.made, call.graph, true};
  graph->parts = parts;
  graph->count = static_cast<std::uint32_t>(description.size());
  graph->edge_count = static_cast<std::uint32_t>(description.edges().size());
  std::copy(description.edges().begin(), description.edges().end(), parts->edges);
  for (std::size_t node = 0; node < graph->count; ++node) {
    const std::byte* record = description.records().data() + node * intern::kGraphNodeSize;
    parts->handles[node] = description.handle(node);
    parts->types[node] = wire::load(record, intern::kNodeType);
    parts->parents[node] = wire::load(record, intern::kNodeParent);
  }
}

// Chooses the node to save: the first wanted node that is in this graph. Wanted nodes are sorted, the one that most
// likely failed first.
void FollowedGraphs::choose_node(FollowedGraph& graph, GraphDescription& description) {
  graph.node = graph.count;
  if (graph.count != description.size()) return;
  for (const wire::window::Node& wanted : sources_.nodes) {
    const std::uint32_t at = wanted.index - 1;
    if (wanted.count != graph.count || at >= graph.count || type_of(description, at) != wire::graph_node::kKernel) {
      continue;
    }
    const std::uint32_t function = wire::load(description.record(at), intern::kNodeFunction);
    if (sources_.interner.function_key(function) != wanted.function) continue;
    graph.node = at;
    graph.parts->launch = {};
    CUDA_KERNEL_NODE_PARAMS launch = {};
    if (sources_.driver.graph_kernel_node_get_params != nullptr &&
        sources_.driver.graph_kernel_node_get_params(description.handle(at), &launch) == CUDA_SUCCESS) {
      read_attributes(graph, description.handle(at));
      read_launch(graph, launch);
    }
    return;
  }
}

void FollowedGraphs::node_set(const GraphCall& call) {
  if (call.what != GraphCall::What::set_node) return;
  const LockGuard lock(mutex_);
  FollowedGraph* graph = call.exec == nullptr ? nullptr : place_of(call.exec);
  if (graph == nullptr || graph->node == graph->count) return;
  const CUgraphNode node = graph->handles()[graph->node];
  bool is_it = call.node == node;
  // Setting the parameters of a child graph node replaces the whole child graph.
  for (std::uint32_t at = graph->node; graph->parents()[at] != 0; at = graph->parents()[at] - 1) {
    is_it = is_it || call.node == graph->handles()[graph->parents()[at] - 1];
  }
  if (!is_it) return;
  graph->parts->launch.known = false;
  if (call.kernel != nullptr && call.node == node) read_launch(*graph, *call.kernel);
}

void FollowedGraphs::read_launch(FollowedGraph& graph, const CUDA_KERNEL_NODE_PARAMS& from) const {
  NodeLaunch& to = graph.parts->launch;
  to.function = from.func != nullptr ? from.func : reinterpret_cast<CUfunction>(from.kern);
  const std::uint32_t grid[3] = {from.gridDimX, from.gridDimY, from.gridDimZ};
  const std::uint32_t block[3] = {from.blockDimX, from.blockDimY, from.blockDimZ};
  memcpy(to.grid, grid, sizeof grid);
  memcpy(to.block, block, sizeof block);
  to.shared_bytes = from.sharedMemBytes;
  to.known = to.function != nullptr;
  to.size = 0;
  to.parameters_unknown = false;
  if (from.kernelParams == nullptr) {
    const ParameterBuffer buffer = parameter_buffer(from.extra);
    to.size = std::min(buffer.size, NodeLaunch::kMostBytes);
    if (to.size > 0) memcpy(to.bytes, buffer.bytes, to.size);
    return;
  }
  const ParameterLayout layout = sources_.layouts.of(to.function);
  to.parameters_unknown = layout.count == 0;
  for (std::size_t i = 0; i < layout.count; ++i) {
    const std::size_t end = layout.offset(i) + layout.size(i);
    if (end > NodeLaunch::kMostBytes || from.kernelParams[i] == nullptr) return;
    memcpy(to.bytes + layout.offset(i), from.kernelParams[i], layout.size(i));
    to.size = std::max(to.size, end);
  }
}

void FollowedGraphs::read_attributes(FollowedGraph& graph, CUgraphNode node) const {
  NodeLaunch& to = graph.parts->launch;
  if (sources_.driver.graph_kernel_node_get_attribute == nullptr) return;
  for (const CUlaunchAttributeID id : {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                       CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE}) {
    CUlaunchAttribute attribute = {};
    attribute.id = id;
    const CUlaunchAttributeValue none = {};
    if (sources_.driver.graph_kernel_node_get_attribute(node, id, &attribute.value) != CUDA_SUCCESS) continue;
    if (memcmp(&attribute.value, &none, sizeof none) == 0) continue;
    if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const auto& cluster = attribute.value.clusterDim;
      to.cluster[0] = cluster.x, to.cluster[1] = cluster.y, to.cluster[2] = cluster.z;
    }
    to.attributes[to.attribute_count++] = attribute;
  }
}

// ---- the source graphs

bool FollowedGraphs::keeps(CUgraph graph) {
  const LockGuard lock(mutex_);
  bool any = false;
  for (FollowedGraph& each : graphs_) {
    if (graph != nullptr && each.exec != nullptr && each.source == graph) each.kept = any = true;
  }
  return any;
}

void FollowedGraphs::exec_destroyed(CUgraphExec exec) {
  const LockGuard lock(mutex_);
  if (FollowedGraph* known = exec == nullptr ? nullptr : place_of(exec)) drop(*known);
}

// Callers must hold the lock.
void FollowedGraphs::drop(FollowedGraph& graph) {
  const FollowedGraph dropped = graph;
  graph = {};
  munmap(dropped.parts, dropped.parts->bytes);
  const bool used = std::any_of(graphs_.begin(), graphs_.end(), [&](const FollowedGraph& other) {
    return other.exec != nullptr && other.source == dropped.source;
  });
  if (!dropped.kept || used || sources_.api.graph_destroy == nullptr) return;
  const RelaxedCapture relaxed(sources_.driver);
  sources_.api.graph_destroy(dropped.source);
}

}  // namespace cudadiag::record
