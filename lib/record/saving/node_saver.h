// Saves the kernel that a node of a graph launches, before it runs, in a rerun that saves launches.
//
// The graph is launched twice in place of once: all that the node depends on, with the other nodes switched off, and
// after the saving the rest. Each node runs once. The driver switches only kernels, copies and memsets off; a graph with
// other work, on which the node depends or not, is launched as it is and nothing is saved. A node that depends on
// nothing needs none of this.
//
// The caller holds the gate (rerun/exclusive_wait.h), as for any launch that is saved.
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
  // Makes one in fresh pages, which is never destroyed. Returns null without memory. `saver` must outlive it.
  static NodeSaver* make(const FollowedGraphs::Rooms& rooms, LaunchSaver& saver);

  FollowedGraphs& graphs() { return graphs_; }
  // ENTER of the launch of a graph, which may have no node to save. `stream`: that it goes to; `exclusive_wait`: waits for what comes before.
  void save(CUgraphExec exec, CUstream stream, ExclusiveWait& exclusive_wait);
  // EXIT of the launch, whatever it returned: the executable graph becomes what the program made it.
  void restore();

 private:
  NodeSaver(const FollowedGraphs::Rooms& rooms, LaunchSaver& saver)
      : driver_(rooms.driver), api_(rooms.api), saver_(saver), graphs_(rooms) {}

  // False: nothing can be saved, and why is noted.
  bool run_before(const FollowedGraph& graph, CUstream stream, ExclusiveWait& exclusive_wait);
  bool read_states(const FollowedGraph& graph);
  template <typename Wanted>
  bool switch_nodes(const FollowedGraph& graph, Wanted wanted);

  const DriverApi& driver_;
  const SavingApi& api_;
  LaunchSaver& saver_;
  FollowedGraphs graphs_;
  // Of the graph that is launched in two parts; null: none.
  const FollowedGraph* divided_ = nullptr;
  std::array<NodeOrder, GraphDescription::kMostNodes> orders_{};
  std::array<bool, GraphDescription::kMostNodes> enabled_{};  // by the program
};

}  // namespace cudadiag::record
