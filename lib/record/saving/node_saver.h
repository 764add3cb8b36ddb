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
#include <cstdint>

#include "record/graphs/nodes_before.h"
#include "record/saving/followed_graphs.h"
#include "record/saving/launch_saver.h"

namespace cudadiag::record {

class ExclusiveWait;

class NodeSaver {
 public:
  // Creates a NodeSaver in fresh pages. The object is never destroyed. Returns null if memory is exhausted. `saver`
  // must outlive the new object.
  static NodeSaver* make(const FollowedGraphs::Rooms& rooms, LaunchSaver& saver);

  FollowedGraphs& graphs() { return graphs_; }
  // Call this at ENTER of a graph launch on `stream`. Does nothing if the graph has no node to save. `exclusive_wait`
  // waits for the first of the two launches.
  void save(CUgraphExec exec, CUstream stream, ExclusiveWait& exclusive_wait);
  // Call this at EXIT of the launch, even if the launch failed. Re-enables all nodes that the program had enabled.
  void restore();

 private:
  NodeSaver(const FollowedGraphs::Rooms& rooms, LaunchSaver& saver)
      : driver_(rooms.driver), api_(rooms.api), saver_(saver), graphs_(rooms) {}

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
