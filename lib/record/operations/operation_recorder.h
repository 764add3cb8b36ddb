// Records an operation between ENTER and EXIT of the call that issues it: every launch goes through all of it.
//
// Between two launches a program fills the caches with what is its own. So what counts on the launch path is how many
// lines and pages it touches: of data, which is therefore owned here and reached through no pointer (small things
// first, together), and of code, whose functions are marked hot, which puts them side by side.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "record/calls/calls.h"
#include "record/calls/failures.h"
#include "record/calls/latest_parameters.h"
#include "record/calls/launch_arguments.h"
#include "record/calls/parameter_layouts.h"
#include "record/cupti/driver_api.h"
#include "record/graphs/graph_recorder.h"
#include "record/operations/site_finder.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"
#include "record/output/race_records.h"
#include "record/process/launch_blocking.h"
#include "record/python/autograd.h"
#include "record/rerun/exclusive_wait.h"
#include "record/saving/launch_saver.h"
#include "record/saving/node_saver.h"
#include "wire/names/record_options.h"

namespace cudadiag::record {

class OperationRecorder {
 public:
  // How many operations of a site get markers of their own in sparse mode, and how far apart markers are after that.
  static constexpr std::uint32_t kDenseOperations = 8;
  static constexpr std::uint32_t kSparseDistance = 16;
  // Once a site has had kSettledOperations, markers take at most one part in kPartsOfTime of a thread's time, but are
  // never further apart than kFarDistance: if threads wait for the driver's lock, a marker costs as much as a launch.
  static constexpr std::uint32_t kSettledOperations = 256;
  static constexpr std::uint32_t kPartsOfTime = 400;
  static constexpr std::uint32_t kFarDistance = 64;

  // Failed calls need no driver.
  void attach(AreaMap& area, Interner& interner) { failures_.attach(area, interner, streams_); }
  void start(AreaMap& area, Interner& interner, const DriverApi& driver, wire::Markers markers);
  // `races`: null if races are not looked for.
  void follow(GraphRecorder& graphs, RaceRecords* races, LaunchBlocking& blocking) {
    graphs_ = &graphs;
    races_ = races;
    blocking_ = &blocking;
  }

  // In a rerun: saves the launches that are waited for alone. `nodes`: null if none is of a graph.
  void save_by(LaunchSaver& saver, NodeSaver* nodes) {
    saver_ = &saver;
    nodes_ = nodes;
    exclusive_wait_.save_by(saver, nodes);
  }

  [[gnu::hot]] void enter(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
                          std::uintptr_t frame);
  [[gnu::hot]] void leave(ThreadState& thread, const CallRule& rule, std::uint32_t result);
  // A call on an event, which is ordered with operations and is recorded like one.
  void note_event(ThreadState& thread, const CallRule& rule, const CUpti_CallbackData& data);
  // A stream that is destroyed while it is at work: only a marker shows how far it got.
  void mark_last(const CallRule& rule, const CUpti_CallbackData& data);
  void see_context(const CUpti_CallbackData& data);
  void context_destroyed(std::uint32_t uid) {
    streams_.context_destroyed(uid);
    newest_context_.store(0, std::memory_order_relaxed);
  }

  RaceRecords* races() { return races_; }
  bool frozen() const { return failures_.frozen(); }
  Autograd& autograd() { return autograd_; }
  Failures& failures() { return failures_; }
  LatestParameters& latest() { return latest_; }
  LaunchArguments& arguments() { return arguments_; }
  LaunchSaver* saver() { return saver_; }
  ExclusiveWait& exclusive_wait() { return exclusive_wait_; }
  SiteFinder& sites() { return sites_; }
  const SiteFinder& sites() const { return sites_; }
  Streams& streams() { return streams_; }

 private:
  [[gnu::hot]] bool is_due(const ThreadState& thread, std::uint32_t site_ordinal) const;
  // False: no marker was queued after this operation.
  [[gnu::noinline]] bool mark(ThreadState& thread);
  [[gnu::cold, gnu::noinline]] void take_turn(ThreadState& thread, bool armed);
  [[gnu::cold, gnu::noinline]] void keep_suspect(std::uint32_t id, const CallRule& rule, const Call& call,
                                                 const CUpti_CallbackData& data);
  void save_node(const Call& launch);
  [[gnu::cold, gnu::noinline]] void meet_stream(ThreadState& thread, const Call& call, const CUpti_CallbackData& data);
  [[gnu::hot]] void write(ThreadState& thread, const CallRule& rule, const Call& call, std::uint32_t site_ordinal);

  // Read by every launch, between the tables of the first member and of the last.
  Autograd autograd_;
  RaceRecords* races_ = nullptr;  // null: races are not looked for
  wire::Markers markers_ = wire::Markers::sparse;
  SiteFinder sites_;
  Failures failures_;  // its last member, and the first one of what follows it, share a line
  LatestParameters latest_;
  ExclusiveWait exclusive_wait_;
  Streams streams_;

  std::atomic<std::uint32_t> newest_context_ = 0;  // uid seen last: most processes have one
  GraphRecorder* graphs_ = nullptr;
  LaunchBlocking* blocking_ = nullptr;
  Interner* interner_ = nullptr;
  LaunchArguments arguments_;
  LaunchSaver* saver_ = nullptr;  // null: no launch is saved
  NodeSaver* nodes_ = nullptr;    // null: no node of a graph is
};

}  // namespace cudadiag::record
