// The recorder of one process: owns the area and everything that writes to it, and turns CUPTI's callbacks into
// records. One object, made inside cuInit, never destroyed: threads may be inside it when the process ends.
//
// All methods run on the target's threads, inside its calls into CUDA. They do not throw, allocate on the launch
// path, print, or wait for anything but the recorder's own short locks.
//
// Between two launches a program fills the caches with what is its own. So what counts on the launch path is how many
// lines and pages it touches, of data (small things first, together) and of code: its functions are marked hot, here
// and in the headers beside this one, which puts them side by side.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "record/calls/calls.h"
#include "record/calls/failures.h"
#include "record/calls/latest_parameters.h"
#include "record/calls/launch_arguments.h"
#include "record/calls/parameter_layouts.h"
#include "record/cupti/driver_api.h"
#include "record/cupti/runtimes.h"
#include "record/graphs/captures.h"
#include "record/graphs/graphs.h"
#include "record/memory/allocations.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"
#include "record/output/module_images.h"
#include "record/output/race_records.h"
#include "record/process/forks.h"
#include "record/python/autograd.h"
#include "record/python/python_hook.h"
#include "record/python/python_stack.h"
#include "record/rerun/alone.h"
#include "record/rerun/window.h"
#include "record/stacks/native_stack.h"
#include "record/watch.h"

namespace cudadiag::record {

struct Options {
  MarkerMode markers = MarkerMode::sparse;
  bool python = true;
  bool native = true;
  std::string_view window;  // wire/window.h; empty: nothing is waited for
  bool hook = false;        // Python code of ours runs in the target
  bool races = false;       // wire/race_record.h
  WatchBy watch_by = WatchBy::automatic;
  bool once = false;             // the driver is to write a GPU core dump of this process when it fails
  const char* folder = nullptr;  // of the pass
};

// The status that a runtime call returned. Calls that return no status (cudaGetErrorName) have no value here.
inline std::uint32_t runtime_result(const CUpti_CallbackData& data) {
  const auto* returned = static_cast<const cudaError_t*>(data.functionReturnValue);
  return returned == nullptr ? 0 : static_cast<std::uint32_t>(*returned);
}

class Recorder {
 public:
  // How many operations of a site get markers of their own in sparse mode, and how far apart markers are after that.
  static constexpr std::uint32_t kDenseOperations = 8;
  static constexpr std::uint32_t kSparseDistance = 16;
  // Once a site has had so many, markers take one part in so many of a thread's time at most, unless they would be too
  // far apart then: where threads wait for the driver's lock, a marker costs as much as a launch.
  static constexpr std::uint32_t kSettledOperations = 256;
  static constexpr std::uint32_t kPartsOfTime = 400;
  static constexpr std::uint32_t kFarDistance = 64;

  // False: there is nowhere to record to. Everything else that fails leaves a note and a disabled area.
  bool start(CUpti_CallbackFunc callback, const Options& options);

  // `thread` of these may be null. Cold and not inlined, here and in what it has: what few launches need.
  [[gnu::hot]] void enter_driver_call(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                                      std::uintptr_t frame);
  [[gnu::hot]] void leave_driver_call(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                                      std::uintptr_t frame);
  // For a call that matters only because it ends something.
  void enter_call_on_the_side(std::uint32_t id, const CUpti_CallbackData& data) {
    const CallRule& rule = driver_call(id);
    if (failures_.frozen()) return;
    if (rule.ends_stream) mark_last(rule, data);
    if (rule.role == Role::event_forgotten) area_.note_events_unseen();
  }
  // Selects the runtime calls that need treatment even if they succeed. All others matter only if they fail.
  static bool is_special(std::uint32_t id) {
    return id == CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020 || asks_for_last_error(id);
  }
  void enter_runtime_call(std::uint32_t id);
  void leave_runtime_call(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data, std::uintptr_t frame);
  void resource(ThreadState* thread, std::uint32_t id, const CUpti_ResourceData& data, std::uintptr_t frame);
  // A context, a stream or a module, after which its handle may be another's.
  static bool ends_something(std::uint32_t id) {
    return id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING || id == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING ||
           id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING;
  }
  // Also inside our own calls into the driver.
  void module_loaded(const CUpti_ResourceData& data);
  void graph_node(const ThreadState* thread, std::uint32_t id, const CUpti_GraphData& data);
  // Once the recorder can be found: python_hook.h.
  void ask_python() {
    if (options_.hook && options_.python) hook_.ask(interner_, window_, failures_);
  }
  // What the thread that calls exit() was not inside of.
  struct ExitingThread {
    bool may_lock;  // the recorder
    bool may_ask_driver;
  };
  // One bounded look for a fault that no call of the program has asked about. `status`: that it gave to exit().
  void look_at_exit(int status, ExitingThread thread);

  // Before a fork: the site of the call, which the child's recorder names.
  std::uint32_t note_fork(ThreadState& thread, std::uintptr_t frame);
  // The driver has written a core dump and is about to end the process: what waits now never returns. On a thread of
  // the driver's.
  void device_failed();

  // In its place in the child (forks.h): records what `refused_in_child` and `leave_runtime_call` are given.
  bool start_in_child(const forks::Origin& origin);
  void refused_in_child(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data, std::uintptr_t frame);

  // Looks for what takes a file: a program may forbid files before its first launch.
  [[gnu::noinline]] ThreadState* acquire_thread();
  void release_thread(ThreadState& thread) {
    if (!failures_.frozen()) streams_.thread_ended(thread.tid);
    threads_.release(thread);
  }
  bool awaits_core_dump() const { return options_.once; }
  void count_dropped() { area_.count(wire::area::kDroppedOperations); }

 private:
  void look_before_end(std::uint32_t id, const CUpti_CallbackData& data);
  void look_before_reset();
  template <typename Ends, typename MayWait>
  void look_for_faults(Ends ends, MayWait may_wait);
  void describe_process();
  void keep_settings();
  void look_for_late_settings();
  void enable_callbacks();
  void arm_core_dump();
  // Calls by which runtimes start.
  void follow_runtimes(std::uint32_t id, const CUpti_CallbackData& data);
  void watch_launches();
  void open_window();

  static bool asks_for_last_error(std::uint32_t id) {
    return id == CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020 ||
           id == CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020;
  }
  [[gnu::cold, gnu::noinline]] static void interrupt(ThreadState& thread);
  [[gnu::cold, gnu::noinline]] static void resume(ThreadState& thread);
  // For calls that do more than issue an operation.
  [[gnu::cold, gnu::noinline]] void enter_other(ThreadState& thread, std::uint32_t id, const CallRule& rule,
                                                const CUpti_CallbackData& data, std::uintptr_t frame);
  // For a thread without a ring: its operations are lost, but their effects on the objects of others are followed.
  [[gnu::cold, gnu::noinline]] void enter_unrecorded(std::uint32_t id, const CallRule& rule,
                                                     const CUpti_CallbackData& data);
  [[gnu::hot]] void enter_operation(ThreadState& thread, std::uint32_t id, const CallRule& rule,
                                    const CUpti_CallbackData& data, std::uintptr_t frame);
  [[gnu::hot]] bool is_due(const ThreadState& thread, std::uint32_t site_ordinal) const;
  [[gnu::noinline]] bool mark(ThreadState& thread);
  void mark_last(const CallRule& rule, const CUpti_CallbackData& data);
  [[gnu::cold, gnu::noinline]] void take_turn(ThreadState& thread, bool armed);
  [[gnu::hot]] void write_operation(ThreadState& thread, const CallRule& rule, const Call& call,
                                    std::uint32_t site_ordinal);
  [[gnu::cold, gnu::noinline]] void leave_other(ThreadState& thread, std::uint32_t id, const CallRule& rule,
                                                const CUpti_CallbackData& data, std::uint32_t result);
  // For calls that do more than issue an operation, or failed to.
  [[gnu::cold, gnu::noinline]] void look_at_result(ThreadState* thread, std::uint32_t id, const CallRule& rule,
                                                   const CUpti_CallbackData& data, std::uint32_t result,
                                                   std::uintptr_t frame);
  // The part of a replay's record that is about its graph.
  [[gnu::cold, gnu::noinline]] StalePointer write_replay(std::byte* record, const OpenOperation& open,
                                                         CUgraphExec graph);
  [[gnu::hot]] void leave_operation(ThreadState& thread, const CallRule& rule, std::uint32_t result);
  // `of_call`: FailedCall's.
  void fail(ThreadState* thread, wire::error::Domain domain, std::uint32_t id, const CUpti_CallbackData& data,
            std::uint32_t code, std::uintptr_t frame, std::uint64_t of_call = 0);
  void enter_graph_call(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data, std::uintptr_t frame);
  void leave_graph_call(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data, bool ok);
  void forget_graph(std::uint32_t id, const CUpti_CallbackData& data);
  // `thread` of these may be null.
  static Captures::Stream captured_stream(const ThreadState* thread, const CallRule& rule,
                                          const CUpti_CallbackData& data);
  void begin_capture(ThreadState* thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
                     std::uintptr_t frame);
  void refuse_capture(const ThreadState* thread, const CallRule& rule, const CUpti_CallbackData& data);
  void end_capture(const ThreadState* thread, const CallRule& rule, const CUpti_CallbackData& data,
                   std::uint32_t result);
  // With what they were of.
  void end_captures_of(CUstream stream);
  void end_captures_in(std::uint32_t context);
  void show_call(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
                 std::uintptr_t frame);
  void note_memory(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data, std::uintptr_t frame);
  void note_unrecorded_memory(std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data);
  void note_peer_access(std::uint32_t id, const CUpti_CallbackData& data);
  void note_context_destroyed(ThreadState* thread, std::uint32_t uid, std::uintptr_t frame);
  void ask_what_is_left(FailedCall& failed) const;
  void note_event(ThreadState& thread, const CallRule& rule, const CUpti_CallbackData& data);
  void see_context(const CUpti_CallbackData& data);
  // The uid of the context that a call waits for: the current one, unless it names one; 0: not known.
  std::uint32_t context_waited_for(std::uint32_t id, const CUpti_CallbackData& data) const;

  const char* symbol_of(CUfunction function) const;
  std::uint32_t function_id(CUfunction function, const char* symbol);
  // The stacks of a call and its identity among the sites; not counted.
  struct Place {
    std::uint32_t python, native;
    std::uint64_t key;
    NativeStacks::Recognition recognition;  // of the native stack
  };
  [[gnu::cold, gnu::noinline]] void seek_python();
  Place place(ThreadState& thread, std::uint32_t id, wire::operation::Kind kind, std::uint32_t function,
              std::uintptr_t frame);
  // An operation's site, and which call of it this is; site 0: not known.
  struct SiteCall {
    std::uint32_t site = 0, ordinal = 0, function = 0;
    bool checks_its_data = false;  // as Interner's
    bool armed = false;            // in a rerun: to be waited for
  };
  [[gnu::hot]] SiteCall site_call(ThreadState& thread, std::uint32_t id, wire::operation::Kind kind, CUfunction kernel,
                                  const char* symbol, std::uintptr_t frame);
  bool enter_site(ThreadState& thread, std::uint32_t id, wire::operation::Kind kind, std::uint32_t function,
                  std::uintptr_t frame, SiteCache::Entry& entry);
  // One that the thread's cache does not have. `key`: its own there; 0: it cannot have one.
  [[gnu::cold, gnu::noinline]] SiteCall new_site_call(ThreadState& thread, std::uint32_t id, wire::operation::Kind kind,
                                                      CUfunction kernel, const char* symbol, std::uintptr_t frame,
                                                      std::uint64_t key);
  SiteCall call_of(const SiteCache::Entry& entry);
  bool wants_native() const;
  [[gnu::cold, gnu::noinline]] void meet_stream(ThreadState& thread, const Call& call, const CUpti_CallbackData& data);
  std::uint32_t count_at(std::uint32_t site);

  // Members that every launch reads are together and small, so that they share few lines and pages: after the table of
  // the first member, and before the tables of the others.
  Autograd autograd_;
  Options options_;
  AreaMap area_;
  std::atomic<std::uint64_t> function_generation_ = 0;
  std::atomic<bool> has_python_ = false;
  // At start where there is an interpreter, so that no thread's first operations go without; else by the first
  // operation.
  std::atomic<bool> python_sought_ = false;
  std::atomic<bool> watching_last_error_ = false;
  std::atomic<bool> watching_launches_ = false;    // the runtimes', too
  std::atomic<std::uint32_t> newest_context_ = 0;  // uid seen last: most processes have one
  std::atomic<bool> may_block_ = false;            // CUDA_LAUNCH_BLOCKING may be in effect
  Failures failures_;  // its last member, and the first one of what follows it, share a line
  LatestParameters latest_;
  Alone alone_;
  PythonStacks python_;
  NativeStacks native_;
  Streams streams_;
  PythonHook hook_;
  DriverApi driver_;
  Watch watch_;
  Runtimes runtimes_;
  Window window_;
  Captures captures_;
  GraphMarkers graph_markers_;
  LaunchArguments arguments_;
  ParameterLayouts layouts_;
  RaceRecords races_;
  ModuleImages module_images_;
  Graphs graphs_;
  Allocations allocations_;
  Mutex functions_mutex_;
  IdTable<32768> functions_;
  Interner interner_;
  Threads threads_;
};

}  // namespace cudadiag::record
