// Saves the kernel that a graph node launches, before it runs, in a rerun that saves launches.
//
// The graph is launched twice instead of once. The first launch runs what the node depends on, with the other nodes
// switched off. After the saving, the second launch runs the rest. Each node runs once. The driver can switch only
// kernels, copies and memsets off. A graph with other work is launched unchanged, and nothing is saved. A node that
// depends on nothing needs none of this.
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
  // Makes one in fresh pages. It is never destroyed. Returns null if memory is short. `saver` must outlive it.
  static NodeSaver* make(const FollowedGraphs::Rooms& rooms, LaunchSaver& saver);

  FollowedGraphs& graphs() { return graphs_; }
  // ENTER of a graph launch on `stream`. The graph may have no node to save. `exclusive_wait` waits for earlier work.
  void save(CUgraphExec exec, CUstream stream, ExclusiveWait& exclusive_wait);
  // EXIT of the launch, with any result. Restores the executable graph as the program made it.
  void restore();

 private:
  NodeSaver(const FollowedGraphs::Rooms& rooms, LaunchSaver& saver)
      : driver_(rooms.driver), api_(rooms.api), saver_(saver), graphs_(rooms) {}

  // Returns false if nothing can be saved; a note then gives the reason.
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
  std::array<bool, GraphDescription::kMostNodes> enabled_{};  // by the program
};

}  // namespace cudadiag::record
