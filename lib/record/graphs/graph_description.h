// Reads one graph from the driver: its nodes, the nodes of its child graphs, and its edges. The layout of the records
// is in wire/intern.h.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record/driver_api.h"
#include "record/libc_substitutes.h"
#include "record/output/interner.h"

namespace cudadiag::record {

// Remembers the bodies of conditional graph nodes. The driver reports them only once, to the call that adds the node.
// All functions may be called on any thread. A new node replaces an older one whose handle has the same hash. The
// bodies of replaced nodes and of copied nodes are unknown.
class ConditionalNodes {
 public:
  // `bodies` points to the driver's own array, which is valid until the node is destroyed.
  void made(CUgraphNode node, const CUgraph* bodies, std::uint32_t count);
  // Call this when the driver has reused the handle for another node.
  void forget(CUgraphNode node);
  std::span<const CUgraph> bodies_of(CUgraphNode node);

 private:
  static constexpr std::size_t kPlaces = 4096;
  struct Node {
    CUgraphNode handle;
    const CUgraph* bodies;
    std::uint32_t count;
  };
  Node& place(CUgraphNode node);

  Mutex mutex_;
  std::atomic<bool> any_ = false;
  std::array<Node, kPlaces> nodes_{};
};

class GraphDescription {
 public:
  static constexpr std::size_t kMostNodes = 1u << 17;
  static constexpr std::size_t kMostEdges = 1u << 19;

  explicit GraphDescription(const DriverApi& driver) : driver_(driver) {}
  ~GraphDescription();
  GraphDescription(const GraphDescription&) = delete;
  GraphDescription& operator=(const GraphDescription&) = delete;

  // Returns false if a driver call fails, or if the graph is too large. Bodies of conditional nodes are read like child
  // graphs if `conditionals` contains them. Without `conditionals`, these bodies are omitted, which changes the numbers
  // of later nodes.
  bool read(CUgraph graph, Interner& interner, ConditionalNodes* conditionals = nullptr);

  std::size_t size() const { return count_; }
  CUgraphNode handle(std::size_t node) const { return handles_[node]; }
  CUgraph graph_of(std::size_t node) const { return graphs_[node]; }
  // Returns true if the node is in the body of a conditional node, which may be skipped at run time.
  bool may_not_run(std::size_t node);
  bool has_programmatic_edges() const { return programmatic_; }
  // Kernels may change the parameters and the grid of such a node, or skip it. The driver does not report what they
  // changed.
  bool is_device_updatable(std::size_t node) const;
  bool has_device_updatable_nodes() const { return device_updatable_; }
  std::byte* record(std::size_t node) { return records_ + node * wire::intern::kGraphNodeSize; }
  std::span<const std::byte> records() const { return {records_, count_ * wire::intern::kGraphNodeSize}; }
  std::span<const GraphEdge> edges() const { return {edges_, edge_count_}; }

 private:
  struct Place {
    CUgraphNode handle;
    std::uint32_t index;
  };
  struct Memory;

  bool allocate();
  bool add_level(CUgraph graph, std::uint32_t parent);
  bool add_edges(CUgraph graph, std::size_t first);
  void fill(std::size_t node, Interner& interner);
  std::uint32_t index_of(CUgraphNode node, std::size_t level_size) const;

  const DriverApi& driver_;
  Memory* memory_ = nullptr;
  CUgraphNode* handles_ = nullptr;
  CUgraph* graphs_ = nullptr;
  Place* places_ = nullptr;  // the nodes of one level, sorted by handle
  std::byte* records_ = nullptr;
  CUgraphNode *from_ = nullptr, *to_ = nullptr;
  CUgraphEdgeData* edge_data_ = nullptr;
  GraphEdge* edges_ = nullptr;
  std::size_t count_ = 0, edge_count_ = 0;
  bool programmatic_ = false, device_updatable_ = false;
};

// Which nodes of a graph must have finished before a given node may begin.
enum class NodeOrder : std::uint8_t {
  apart,   // may run at any time, or after the given node
  itself,  // the given node, or a child graph that contains it
  before,  // must have finished before the given node begins
};

// For each node, stores in `orders` when it runs relative to `node`. Returns whether any node must finish before `node`
// begins. `parents` has the parent of each node, as in the node's record (graph_description.h).
bool order_nodes(std::span<const std::uint32_t> parents, std::span<const GraphEdge> edges, std::uint32_t node,
                 std::span<NodeOrder> orders);

}  // namespace cudadiag::record
