// Records graphs: the creation of their nodes, executable graphs, and their launches. Owns the state of graphs and
// executable graphs.
//
// Handles only calls on graphs and launches of graphs. `thread` may be null only where a comment says so.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "record/driver_api.h"
#include "record/graphs/graph_markers.h"
#include "record/graphs/graphs.h"
#include "record/memory/allocations.h"
#include "record/memory/race_records.h"
#include "record/operations/site_finder.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"
#include "record/rerun/exclusive_wait.h"
#include "record/rerun/window.h"

namespace cudadiag::record {

class GraphRecorder {
 public:
  void attach(AreaMap& area, Interner& interner, const DriverApi& driver, const Allocations& allocations,
              SiteFinder& sites);
  // Call this in a rerun. Graphs that the rerun waits for then get markers.
  void follow(const Window& window, const ExclusiveWait& alone) {
    window_ = &window;
    exclusive_wait_ = &alone;
  }
  void record_races(RaceRecords& races) { races_ = &races; }
  // Call this in a rerun that saves a graph node.
  void save_by(FollowedGraphs& followed) {
    followed_ = &followed;
    graphs_.save_by(followed);
  }

  void enter(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data, std::uintptr_t frame);
  void leave(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data, bool ok);
  // Removes the markers from the program's graph. Call this at EXIT of every call on graphs, even if the call has
  // failed.
  void remove_markers(ThreadState& thread, bool ok) {
    if (thread.markers.nodes != nullptr) markers_.remove(thread.markers, ok);
  }
  // Call this inside the call that creates the node. `thread` may be null.
  void node(const ThreadState* thread, std::uint32_t id, const CUpti_GraphData& data);
  // Forgets the executable graph that the call changes. Call this instead of enter() and leave() on a thread without a
  // ring.
  void forget(std::uint32_t id, const CUpti_CallbackData& data);
  // Writes the part of a launch's record that describes its graph.
  [[gnu::cold, gnu::noinline]] void write_replay(std::byte* record, const OpenOperation& open, CUgraphExec graph,
                                                 StalePointers& stale);

 private:
  void before_end(const GraphCall& call);
  void record_race_effects(ThreadState& thread, const GraphCall& call);

  Interner* interner_ = nullptr;
  SiteFinder* sites_ = nullptr;
  const Window* window_ = nullptr;
  const ExclusiveWait* exclusive_wait_ = nullptr;
  RaceRecords* races_ = nullptr;        // null if cudadiag does not look for races
  FollowedGraphs* followed_ = nullptr;  // null if no node is saved
  GraphMarkers markers_;
  Graphs graphs_;
};

}  // namespace cudadiag::record
