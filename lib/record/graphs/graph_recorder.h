// Records graphs: their nodes as they are made, executable graphs and their launches. Owns what is known of both.
//
// Only calls on graphs come here, and launches of graphs; `thread` may be null only where that is said.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "record/cupti/driver_api.h"
#include "record/graphs/graph_markers.h"
#include "record/graphs/graphs.h"
#include "record/memory/allocations.h"
#include "record/operations/site_finder.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"
#include "record/output/race_records.h"
#include "record/rerun/exclusive_wait.h"
#include "record/rerun/window.h"

namespace cudadiag::record {

class GraphRecorder {
 public:
  void attach(AreaMap& area, Interner& interner, const DriverApi& driver, const Allocations& allocations,
              SiteFinder& sites);
  // In a rerun, graphs that are waited for get markers.
  void follow(const Window& window, const ExclusiveWait& alone) {
    window_ = &window;
    exclusive_wait_ = &alone;
  }
  void record_races(RaceRecords& races) { races_ = &races; }
  // In a rerun that saves a node of a graph.
  void save_by(FollowedGraphs& followed) {
    followed_ = &followed;
    graphs_.save_by(followed);
  }

  void enter(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data, std::uintptr_t frame);
  void leave(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data, bool ok);
  // At EXIT of every such call, even after a failure: the graph is the program's.
  void remove_markers(ThreadState& thread, bool ok) {
    if (thread.markers.nodes != nullptr) markers_.remove(thread.markers, ok);
  }
  // Inside the call that makes the node. `thread` may be null.
  void node(const ThreadState* thread, std::uint32_t id, const CUpti_GraphData& data);
  // The call's effect on an executable graph is not read: such a graph is not known from then on.
  void forget(std::uint32_t id, const CUpti_CallbackData& data);
  // The part of a launch's record that is about its graph.
  [[gnu::cold, gnu::noinline]] void write_replay(std::byte* record, const OpenOperation& open, CUgraphExec graph,
                                                 StalePointers& stale);

 private:
  void before_end(const GraphCall& call);
  void record_race_effects(ThreadState& thread, const GraphCall& call);

  Interner* interner_ = nullptr;
  SiteFinder* sites_ = nullptr;
  const Window* window_ = nullptr;
  const ExclusiveWait* exclusive_wait_ = nullptr;
  RaceRecords* races_ = nullptr;        // null: races are not looked for
  FollowedGraphs* followed_ = nullptr;  // null: no node is saved
  GraphMarkers markers_;
  Graphs graphs_;
};

}  // namespace cudadiag::record
