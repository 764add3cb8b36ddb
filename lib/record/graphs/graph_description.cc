#include "record/graphs/graph_description.h"

#include <sys/mman.h>

#include <algorithm>

#include "wire/hash.h"
#include "wire/operation.h"

namespace cudadiag::record {

namespace intern = wire::intern;

// Has room for the largest graph that is described. A small graph uses little memory, because the operating system
// provides pages only when they are touched.
struct GraphDescription::Memory {
  CUgraphNode handles[kMostNodes];
  CUgraph graphs[kMostNodes];
  Place places[kMostNodes];
  alignas(8) std::byte records[kMostNodes * intern::kGraphNodeSize];
  CUgraphNode from[kMostEdges], to[kMostEdges];
  CUgraphEdgeData edge_data[kMostEdges];
  GraphEdge edges[kMostEdges];
};

GraphDescription::~GraphDescription() {
  if (memory_ != nullptr) munmap(memory_, sizeof(Memory));
}

bool GraphDescription::allocate() {
  void* memory =
      mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<Memory*>(memory);
  handles_ = memory_->handles;
  graphs_ = memory_->graphs;
  places_ = memory_->places;
  records_ = memory_->records;
  from_ = memory_->from, to_ = memory_->to;
  edge_data_ = memory_->edge_data;
  edges_ = memory_->edges;
  return true;
}

bool GraphDescription::read(CUgraph graph, Interner& interner, ConditionalNodes* conditionals) {
  if (!driver_.can_describe_graphs() || !allocate()) return false;
  const RelaxedCapture relaxed(driver_);
  if (!add_level(graph, 0)) return false;
  for (std::size_t node = 0; node < count_; ++node) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    driver_.graph_node_get_type(handles_[node], &type);
    wire::store(record(node), intern::kNodeType, static_cast<std::uint8_t>(type));
    CUgraph child = nullptr;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH && driver_.graph_child_get_graph != nullptr &&
        driver_.graph_child_get_graph(handles_[node], &child) == CUDA_SUCCESS &&
        !add_level(child, static_cast<std::uint32_t>(node + 1))) {
      return false;
    }
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL && conditionals != nullptr) {
      for (CUgraph body : conditionals->bodies_of(handles_[node])) {
        if (!add_level(body, static_cast<std::uint32_t>(node + 1))) return false;
      }
    }
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) fill(node, interner);
  }
  return true;
}

// Adds the nodes and edges of one graph, without those of its child graphs.
bool GraphDescription::add_level(CUgraph graph, std::uint32_t parent) {
  std::size_t nodes = 0;
  if (driver_.graph_get_nodes(graph, nullptr, &nodes) != CUDA_SUCCESS || nodes > kMostNodes - count_) return false;
  const std::size_t first = count_;
  if (nodes > 0 && driver_.graph_get_nodes(graph, handles_ + first, &nodes) != CUDA_SUCCESS) return false;
  count_ += nodes;
  for (std::size_t node = first; node < count_; ++node) {
    graphs_[node] = graph;
    wire::store(record(node), intern::kNodeParent, parent);
  }
  return driver_.graph_get_edges == nullptr || add_edges(graph, first);
}

bool GraphDescription::add_edges(CUgraph graph, std::size_t first) {
  std::size_t edges = 0;
  if (driver_.graph_get_edges(graph, nullptr, nullptr, nullptr, &edges) != CUDA_SUCCESS ||
      edges > kMostEdges - edge_count_) {
    return false;
  }
  if (edges == 0) return true;
  if (driver_.graph_get_edges(graph, from_, to_, edge_data_, &edges) != CUDA_SUCCESS) return false;
  const std::size_t level_size = count_ - first;
  for (std::size_t i = 0; i < level_size; ++i) {
    places_[i] = {handles_[first + i], static_cast<std::uint32_t>(first + i)};
  }
  std::sort(places_, places_ + level_size, [](const Place& a, const Place& b) { return a.handle < b.handle; });
  for (std::size_t i = 0; i < edges; ++i) {
    programmatic_ |= edge_data_[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
    edges_[edge_count_++] = {index_of(from_[i], level_size), index_of(to_[i], level_size)};
  }
  return true;
}

bool GraphDescription::may_not_run(std::size_t node) {
  while (const std::uint32_t parent = wire::load(record(node), intern::kNodeParent)) {
    node = parent - 1;
    if (wire::load(record(node), intern::kNodeType) == wire::graph_node::kConditional) return true;
  }
  return false;
}

bool GraphDescription::is_device_updatable(std::size_t node) const {
  CUlaunchAttributeValue value = {};
  return driver_.graph_kernel_node_get_attribute != nullptr &&
         driver_.graph_kernel_node_get_attribute(handles_[node], CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
                                                 &value) == CUDA_SUCCESS &&
         value.deviceUpdatableKernelNode.deviceUpdatable != 0;
}

std::uint32_t GraphDescription::index_of(CUgraphNode node, std::size_t level_size) const {
  const Place *begin = places_, *end = begin + level_size;
  const Place* place =
      std::lower_bound(begin, end, node, [](const Place& a, CUgraphNode wanted) { return a.handle < wanted; });
  return place != end && place->handle == node ? place->index : 0;
}

void GraphDescription::fill(std::size_t node, Interner& interner) {
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  if (driver_.graph_kernel_node_get_params == nullptr ||
      driver_.graph_kernel_node_get_params(handles_[node], &kernel) != CUDA_SUCCESS) {
    return;
  }
  device_updatable_ |= is_device_updatable(node);
  const auto narrow = [](unsigned value) { return static_cast<std::uint16_t>(std::min(value, 0xffffu)); };
  std::byte* to = record(node);
  wire::store(to, intern::kNodeGridX, kernel.gridDimX);
  wire::store(to, intern::kNodeGridY, narrow(kernel.gridDimY));
  wire::store(to, intern::kNodeGridZ, narrow(kernel.gridDimZ));
  wire::store(to, intern::kNodeBlockX, narrow(kernel.blockDimX));
  wire::store(to, intern::kNodeBlockY, narrow(kernel.blockDimY));
  wire::store(to, intern::kNodeBlockZ, narrow(kernel.blockDimZ));
  wire::store(to, intern::kNodeSharedBytes, kernel.sharedMemBytes);
  const char* name = nullptr;
  if (kernel.func != nullptr && driver_.func_get_name != nullptr) driver_.func_get_name(&name, kernel.func);
  if (name == nullptr && kernel.kern != nullptr && driver_.kernel_get_name != nullptr) {
    driver_.kernel_get_name(&name, kernel.kern);
  }
  if (name != nullptr) wire::store(to, intern::kNodeFunction, interner.function(name));
}

// The caller must hold the lock.
ConditionalNodes::Node& ConditionalNodes::place(CUgraphNode node) {
  return nodes_[wire::mix(wire::kHashSeed, reinterpret_cast<std::uint64_t>(node)) >> 20 & (kPlaces - 1)];
}

void ConditionalNodes::made(CUgraphNode node, const CUgraph* bodies, std::uint32_t count) {
  const LockGuard lock(mutex_);
  place(node) = {node, bodies, count};
  any_.store(true, std::memory_order_relaxed);
}

void ConditionalNodes::forget(CUgraphNode node) {
  if (!any_.load(std::memory_order_relaxed)) return;
  const LockGuard lock(mutex_);
  if (Node& known = place(node); known.handle == node) known = {};
}

std::span<const CUgraph> ConditionalNodes::bodies_of(CUgraphNode node) {
  const LockGuard lock(mutex_);
  const Node& known = place(node);
  return known.handle == node ? std::span(known.bodies, known.count) : std::span<const CUgraph>();
}

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
