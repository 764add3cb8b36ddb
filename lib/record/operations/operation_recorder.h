// Records an operation between ENTER and EXIT of the call that issues it. All of this code is on the launch path.
//
// Between two launches, a program fills the caches with its own data. The cost of the launch path is therefore the
// number of cache lines and pages that it touches. The data are direct members of this class, small ones first, so that
// no pointer must be followed. The functions are marked hot, so that the linker places them side by side.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "record/calls/call_rules.h"
#include "record/calls/failures.h"
#include "record/calls/launch_parameters.h"
#include "record/driver_api.h"
#include "record/graphs/graph_recorder.h"
#include "record/memory/race_records.h"
#include "record/operations/site_finder.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"
#include "record/process_life.h"
#include "record/python/autograd.h"
#include "record/rerun/exclusive_wait.h"
#include "record/rerun/launch_saver.h"
#include "record/rerun/node_saver.h"
#include "wire/environment.h"

namespace cudadiag::record {

class OperationRecorder {
 public:
  // In sparse mode, each of a site's first kDenseOperations operations gets a marker. Later markers are at least
  // kSparseDistance operations apart.
  static constexpr std::uint32_t kDenseOperations = 8;
  static constexpr std::uint32_t kSparseDistance = 16;
  // After a site's first kSettledOperations operations, markers take at most 1/kPartsOfTime of a thread's time, unless
  // their distance would exceed kFarDistance. If threads wait for the driver's lock, a marker costs as much as a
  // launch.
  static constexpr std::uint32_t kSettledOperations = 256;
  static constexpr std::uint32_t kPartsOfTime = 400;
  static constexpr std::uint32_t kFarDistance = 64;

  // Allows failed calls to be recorded. Needs no driver functions, so it can be called before start().
  void attach(AreaMap& area, Interner& interner) { failures_.attach(area, interner, streams_); }
  void start(AreaMap& area, Interner& interner, const DriverApi& driver, wire::Markers markers);
  // `races` is null if cudadiag does not look for races.
  void follow(GraphRecorder& graphs, RaceRecords* races, LaunchBlocking& blocking) {
    graphs_ = &graphs;
    races_ = races;
    blocking_ = &blocking;
  }

  // In a rerun: saves the launches that run alone. `nodes` is null if no graph node is to be saved.
  void save_by(LaunchSaver& saver, NodeSaver* nodes) {
    saver_ = &saver;
    nodes_ = nodes;
    exclusive_wait_.save_by(saver, nodes);
  }

  // Call this when everything above has been called. Launches are then `plain`, unless a rerun waits for operations,
  // cudadiag looks for races, or each operation gets a marker.
  void started() { plain_ = races_ == nullptr && !exclusive_wait_.on() && markers_ != wire::Markers::dense; }
  bool plain() const { return plain_; }

  // `plain` is a constant, so that the compiler removes the branches that a plain launch does not need.
  [[gnu::hot]] void enter(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
                          std::uintptr_t frame, bool plain);
  [[gnu::hot]] void leave(ThreadState& thread, const CallRule& rule, std::uint32_t result, bool plain);
  // Records a call on an event as an operation, because its order among the operations matters.
  void note_event(ThreadState& thread, const CallRule& rule, const CUpti_CallbackData& data);
  // Queues a marker on a stream that is about to be destroyed. If the stream is busy, only a marker shows its progress.
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
  CopiedTables& tables() { return tables_; }
  LaunchArguments& arguments() { return arguments_; }
  LaunchSaver* saver() { return saver_; }
  ExclusiveWait& exclusive_wait() { return exclusive_wait_; }
  SiteFinder& sites() { return sites_; }
  const SiteFinder& sites() const { return sites_; }
  Streams& streams() { return streams_; }

 private:
  [[gnu::hot]] bool is_due(const ThreadState& thread, std::uint32_t site_ordinal) const;
  // Returns false if no marker was queued after this operation.
  [[gnu::noinline]] bool mark(ThreadState& thread);
  [[gnu::cold, gnu::noinline]] void take_turn(ThreadState& thread, bool armed);
  [[gnu::cold, gnu::noinline]] void keep_suspect(std::uint32_t id, wire::operation::Kind kind, const Call& call,
                                                 const CUpti_CallbackData& data);
  void save_node(const Call& launch);
  [[gnu::cold, gnu::noinline]] void meet_stream(ThreadState& thread, const Call& call, const CUpti_CallbackData& data);
  struct Facts {
    std::uint32_t site_ordinal = 0;
    bool usual = false;  // a launch whose dimensions need no checks
    bool late = false;   // the operation may have waited since ENTER, so it gets a new time stamp
  };
  [[gnu::hot]] void write(ThreadState& thread, const CallRule& rule, const Call& call, Facts facts);

  // Every launch reads the members from here to `streams_`. The parts that a launch reads must be adjacent: the last
  // members of `autograd_`, and the first members of `streams_`.
  Autograd autograd_;
  RaceRecords* races_ = nullptr;  // null if cudadiag does not look for races
  wire::Markers markers_ = wire::Markers::sparse;
  bool plain_ = false;
  SiteFinder sites_;
  Failures failures_;  // its last member shares a cache line with the first member of `latest_`
  LatestParameters latest_;
  ExclusiveWait exclusive_wait_;
  Streams streams_;

  std::atomic<std::uint32_t> newest_context_ = 0;  // uid of the context seen last; most processes have only one
  GraphRecorder* graphs_ = nullptr;
  LaunchBlocking* blocking_ = nullptr;
  Interner* interner_ = nullptr;
  LaunchArguments arguments_;
  CopiedTables tables_;
  LaunchSaver* saver_ = nullptr;  // null if no launch is saved
  NodeSaver* nodes_ = nullptr;    // null if no graph node is saved
};

}  // namespace cudadiag::record
