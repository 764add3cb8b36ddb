// Saves the kernel launch of a graph node before the node runs, in a rerun that saves launches.
//
// The graph is launched twice instead of once. The first launch runs the nodes on which the failing node depends, while
// all other nodes are disabled. Then the kernel is saved, and the second launch runs the other nodes. Each node thus
// runs once. The driver can disable only kernels, copies and memsets. A graph with other work is launched unchanged,
// and no kernel is saved. If the failing node depends on no other node, the graph is launched only once.
//
// The caller holds the gate (rerun/exclusive_wait.h), as for any saved launch.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record/calls/launch_parameters.h"
#include "record/calls/memory_and_graph_call_rules.h"
#include "record/driver_api.h"
#include "record/graphs/graph_description.h"
#include "record/libc_substitutes.h"
#include "record/output/interner.h"
#include "record/rerun/launch_saver.h"
#include "wire/rerun.h"

namespace cudadiag::record {

struct FollowedGraph {
  CUgraphExec exec = nullptr;  // null if the entry is free
  CUgraph source = nullptr;    // the graph whose nodes identify the nodes of `exec`
  bool named = false;          // true if the nodes of `source` still identify those of `exec`
  bool kept = false;           // true if the program has destroyed `source`, so that only this class keeps it
  std::uint32_t node = 0;      // index of the node to save; `count` if none
  std::uint32_t count = 0, edge_count = 0;
  struct Parts;
  Parts* parts = nullptr;

  std::span<const CUgraphNode> handles() const;
  std::span<const std::uint8_t> types() const;  // see wire/operation.h
  std::span<const std::uint32_t> parents() const;
  std::span<const GraphEdge> edges() const;
  const NodeLaunch& launch() const;
};

// Tracks the executable graphs that contain a node to save, and the kernel launch of that node. Created only in a rerun
// that saves a graph node.
//
// The driver identifies a node of an executable graph by the node of the source graph. However, programs destroy the
// source graph: PyTorch does so right after the instantiation. This class keeps the source graph until the executable
// graph is destroyed.
class FollowedGraphs {
 public:
  static constexpr std::size_t kMostGraphs = 512;

  struct Sources {
    const DriverApi& driver;
    const SavingApi& api;
    const Interner& interner;
    ParameterLayouts& layouts;
    std::span<const wire::window::Node> nodes;
  };
  explicit FollowedGraphs(const Sources& sources) : sources_(sources) {}

  // Call this after the executable graph was instantiated or updated. `description` describes the call's source graph.
  void described(const GraphCall& call, GraphDescription& description);
  void node_set(const GraphCall& call);
  // Call this before the driver destroys the graph.
  void exec_destroyed(CUgraphExec exec);
  // Call this before the driver destroys the graph. Returns true if the driver must not be called.
  bool keeps(CUgraph graph);

  // The result stays valid during the launch, because programs must not destroy a graph during its launch.
  const FollowedGraph* find(CUgraphExec exec) const;

 private:
  FollowedGraph* place_of(CUgraphExec exec);
  void made(const GraphCall& call, const GraphDescription& description);
  void choose_node(FollowedGraph& graph, GraphDescription& description);
  void read_launch(FollowedGraph& graph, const CUDA_KERNEL_NODE_PARAMS& from) const;
  void read_attributes(FollowedGraph& graph, CUgraphNode node) const;
  void drop(FollowedGraph& graph);

  Sources sources_;
  mutable Mutex mutex_;
  std::array<FollowedGraph, kMostGraphs> graphs_{};
};

class ExclusiveWait;

class NodeSaver {
 public:
  // Creates a NodeSaver in fresh pages. The object is never destroyed. Returns null if memory is exhausted. `saver`
  // must outlive the new object.
  static NodeSaver* make(const FollowedGraphs::Sources& sources, LaunchSaver& saver);

  FollowedGraphs& graphs() { return graphs_; }
  // Call this at ENTER of a graph launch on `stream`. Does nothing if the graph has no node to save. `exclusive_wait`
  // waits for the first of the two launches.
  void save(CUgraphExec exec, CUstream stream, ExclusiveWait& exclusive_wait);
  // Call this at EXIT of the launch, even if the launch failed. Re-enables all nodes that the program had enabled.
  void restore();

 private:
  NodeSaver(const FollowedGraphs::Sources& sources, LaunchSaver& saver)
      : driver_(sources.driver), api_(sources.api), saver_(saver), graphs_(sources) {}

  // Returns false if the kernel cannot be saved; a note then gives the reason.
  bool run_before(const FollowedGraph& graph, CUstream stream, ExclusiveWait& exclusive_wait);
  bool read_states(const FollowedGraph& graph);
  template <typename Wanted>
  bool switch_nodes(const FollowedGraph& graph, Wanted wanted);

  const DriverApi& driver_;
  const SavingApi& api_;
  LaunchSaver& saver_;
  FollowedGraphs graphs_;
  // The graph that is launched in two parts; null if none.
  const FollowedGraph* divided_ = nullptr;
  std::array<NodeOrder, GraphDescription::kMostNodes> orders_{};
  std::array<bool, GraphDescription::kMostNodes> enabled_{};  // whether the program has enabled the node
};

}  // namespace cudadiag::record
