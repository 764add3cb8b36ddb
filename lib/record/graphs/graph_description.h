// Reads one graph from the driver: its nodes, the nodes of its child graphs, and its edges. The layout of the records
// is in wire/intern.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "record/cupti/driver_api.h"
#include "record/graphs/conditional_nodes.h"
#include "record/output/interner.h"

namespace cudadiag::record {

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
  bool programmatic_ = false;
};

}  // namespace cudadiag::record
