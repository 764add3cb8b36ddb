#include "record/saving/node_saver.h"

#include <sys/mman.h>

#include <new>
#include <utility>

#include "record/output/unrecorded.h"
#include "record/rerun/exclusive_wait.h"
#include "record/uncancelled.h"
#include "wire/graph_node.h"

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

NodeSaver* NodeSaver::make(const FollowedGraphs::Rooms& rooms, LaunchSaver& saver) {
  if (!may_take_address_space(sizeof(NodeSaver))) return nullptr;
  void* memory =
      mmap(nullptr, sizeof(NodeSaver), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) NodeSaver(rooms, saver);
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

}  // namespace cudadiag::record
