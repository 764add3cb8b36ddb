// The recorder of one process. It owns the area and everything that writes to it, and passes each CUPTI callback to the
// part that handles it. The only instance is created inside cuInit. It is never destroyed, because threads may still be
// executing its code when the process exits.
//
// All methods run on the program's threads, inside the program's calls to CUDA. They never throw, allocate on the
// launch path, print, or wait for anything except the recorder's own short locks. A `thread` parameter is null for a
// thread without a ring.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "record/callback_source.h"
#include "record/calls/blocking_calls.h"
#include "record/calls/call_rules.h"
#include "record/calls/failure_recorder.h"
#include "record/calls/failures.h"
#include "record/calls/launch_parameters.h"
#include "record/collectives.h"
#include "record/driver_api.h"
#include "record/graphs/captures.h"
#include "record/graphs/graph_recorder.h"
#include "record/memory/memory_recorder.h"
#include "record/memory/race_records.h"
#include "record/operations/operation_recorder.h"
#include "record/operations/site_finder.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"
#include "record/output/module_images.h"
#include "record/process_life.h"
#include "record/python/hook_loader.h"
#include "record/python/refused_allocations.h"
#include "record/rerun/window.h"
#include "wire/cuda_codes.h"
#include "wire/environment.h"
#include "wire/error.h"

namespace cudadiag::record {

struct Options {
  wire::RecordOptions record;
  std::string_view window;         // see wire/rerun.h; empty if the recorder waits for no operations
  bool hook = false;               // whether cudadiag's Python hook runs in the process
  const char* folder = nullptr;    // folder of the pass
  bool tool_loaded_cupti = false;  // whether the injection library that the user chose has loaded CUPTI
};

class Recorder;

// Where a process that has used CUDA forked. In the child, the driver rejects every call with kRefusedInChild.
//
// The parent records where it forks. The child cannot use the parent's recorder, because other threads may have held
// its locks. The first rejected call in the child creates a new recorder, which records only rejected calls.
struct ForkOrigin {
  const Recorder* parent = nullptr;  // the child reads it, but never locks or changes it
  std::uint32_t pid = 0;             // of the parent
  std::uint32_t site = 0;            // where the parent forked, in the parent's area; 0 if unknown
};
constexpr std::uint32_t kRefusedInChild = wire::cuda::kInitializationError;

class Recorder {
 public:
  // Returns false if the process has no area. After any other failure, leaves a note, disables the area, and returns
  // true.
  bool start(CUpti_CallbackFunc callback, const Options& options);

  // In this class and its members' classes, code that few launches need is marked cold and is not inlined.
  [[gnu::hot]] void enter_driver_call(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                                      std::uintptr_t frame);
  [[gnu::hot]] void leave_driver_call(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                                      std::uintptr_t frame);
  // Handles a call that matters only because it destroys a stream, or makes the recorder lose track of where an event
  // was recorded.
  void enter_call_on_the_side(std::uint32_t id, const CUpti_CallbackData& data) {
    const CallRule& rule = driver_call(id);
    if (operations_.frozen()) return;
    if (rule.ends_stream) operations_.mark_last(rule, data);
    if (rule.role == Role::event_forgotten) area_.note_events_unseen();
  }
  // Returns true if a runtime call must be handled even if it succeeds. Other runtime calls matter only if they fail.
  static bool is_special(std::uint32_t id) {
    return id == CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020 || WatchedCalls::asks_for_last_error(id);
  }
  void enter_runtime_call(std::uint32_t id) {
    // The runtime ends its context through calls that CUPTI does not report, so the context's work is checked now.
    if (id != CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020) return;
    if (operations_.races() != nullptr) races_.context_ends();
    exit_probe_.before_device_reset();
  }
  void leave_runtime_call(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data, std::uintptr_t frame) {
    failed_calls_.runtime_call_returned(thread, id, data, frame);
  }
  void resource(ThreadState* thread, std::uint32_t id, const CUpti_ResourceData& data, std::uintptr_t frame);
  // Returns true if a context or stream is about to be destroyed, or a module unloaded, so that its handle may be
  // reused.
  static bool ends_something(std::uint32_t id) {
    return id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING || id == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING ||
           id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING;
  }
  // May also be called inside the recorder's own driver calls.
  void module_loaded(const CUpti_ResourceData& data);
  // Call this during the driver call that creates the node.
  void graph_node(const ThreadState* thread, std::uint32_t id, const CUpti_GraphData& data) {
    if (!operations_.frozen()) graphs_.node(thread, id, data);
  }
  // Call this once the Python hook can find the recorder (hook_loader.h).
  void ask_python() {
    if (options_.hook && options_.record.python_stacks)
      hook_.ask(interner_, window_, operations_.failures(), operations_.exclusive_wait());
  }
  // Searches once, for a limited time, for a fault that no call of the program has reported. `status` is the argument
  // of exit().
  void at_exit(ThreadState* self, int status, ExitingThread thread) {
    if (operations_.races() != nullptr) races_.process_ends(thread.may_lock ? self : nullptr);
    exit_probe_.at_exit(status, thread);
  }

  // These functions record NCCL's communicators and the calls on them (record/collectives.h).
  std::uint32_t communicator(const CommunicatorMade& made, bool may_be_known) {
    return may_be_known ? collectives_.find_or_make(made) : collectives_.made(made);
  }
  void communicator_finalized(std::uint32_t communicator) { collectives_.finalized(communicator); }
  void collective(ThreadState* thread, const CollectiveCall& call, std::uintptr_t frame);

  // Call this before a fork. Returns the site of the fork, which the child's recorder reports.
  std::uint32_t note_fork(ThreadState& thread, std::uintptr_t frame);
  // Makes a driver from CUDA 13.2 on report each core dump that it has written.
  void follow_dumps(void (*callback)(void*, int, CUdevice)) const {
    void* handle = nullptr;
    if (driver_.coredump_register_complete_callback != nullptr) {
      driver_.coredump_register_complete_callback(callback, nullptr, &handle);
    }
  }
  // Call this on a driver thread when the driver has written a core dump, even more than once. Returns false if the
  // dump was only requested. The process should then not end.
  bool device_failed() {
    if (core_dump_.take_request(interner_)) return false;
    failed_calls_.device_failed(threads_.latest_in_wait());
    return true;
  }

  // Called when PyTorch's allocator rejects a request (refused_allocations.h).
  void allocator_refused(ThreadState* thread, std::uint64_t bytes, std::uintptr_t frame) {
    failed_calls_.allocator_refused(thread, bytes, frame);
  }
  // Called when the program ends because CuPy's or JAX's memory pool rejected a request (refused_allocations.h).
  void refusal_uncaught(ThreadState* thread, const uncaught_refusal::Refusal& refusal) {
    failed_calls_.refusal_uncaught(thread, refusal);
  }

  // Starts a recorder in the child of a fork. It records only what refused_in_child() and leave_runtime_call() report.
  bool start_in_child(const ForkOrigin& origin);
  void refused_in_child(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data, std::uintptr_t frame);

  // Returns the calling thread's state. Also does all work that needs file access, because the program may disable file
  // access before its first launch.
  [[gnu::noinline]] ThreadState* acquire_thread();
  void release_thread(ThreadState& thread) {
    if (operations_.races() != nullptr) races_.thread_ended(thread);
    if (!operations_.frozen()) operations_.streams().thread_ended(thread.tid);
    threads_.release(thread);
  }
  bool reads_python_stacks() const { return options_.record.python_stacks; }
  bool awaits_core_dump() const { return options_.record.once; }

 private:
  void attach_area();
  void start_parts();
  void start_rerun();
  void start_saving();

  // Handles calls that are not plain launches (operation_recorder.h).
  [[gnu::hot, gnu::noinline, gnu::flatten]] void enter_any(ThreadState& thread, std::uint32_t id, const CallRule& rule,
                                                           const CUpti_CallbackData& data, std::uintptr_t frame);
  // Handles calls that do more than issue an operation.
  [[gnu::cold, gnu::noinline]] void enter_other(ThreadState& thread, std::uint32_t id, const CallRule& rule,
                                                const CUpti_CallbackData& data, std::uintptr_t frame);
  // Handles a call on a thread without a ring. Does not record its operation, but records its effects on other threads'
  // objects.
  [[gnu::cold, gnu::noinline]] void enter_unrecorded(std::uint32_t id, const CallRule& rule,
                                                     const CUpti_CallbackData& data);
  [[gnu::cold, gnu::noinline]] void leave_other(ThreadState& thread, std::uint32_t id, const CallRule& rule,
                                                const CUpti_CallbackData& data, std::uint32_t result);
  void finish_wait(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data);
  struct Returned {
    std::uint32_t id, result;
  };
  // Handles calls that failed, or are not plain launches.
  [[gnu::hot, gnu::noinline, gnu::flatten]] void leave_any(ThreadState* thread, Returned returned, const CallRule& rule,
                                                           const CUpti_CallbackData& data, std::uintptr_t frame);
  // Handles a call that does more than issue an operation, or that failed.
  [[gnu::cold, gnu::noinline]] void look_at_result(ThreadState* thread, Returned returned, const CallRule& rule,
                                                   const CUpti_CallbackData& data, std::uintptr_t frame);
  [[gnu::cold, gnu::noinline]] static void interrupt(ThreadState& thread);
  [[gnu::cold, gnu::noinline]] static void resume(ThreadState& thread);

  OperationRecorder operations_;  // first, because the order of its own members matters
  Options options_;
  AreaMap area_;
  DriverApi driver_;
  PythonHook hook_;
  WatchedCalls calls_;
  FailureRecorder failed_calls_;
  BlockingCalls blocking_calls_;
  LaunchBlocking launch_blocking_;
  CoreDump core_dump_{};
  ExitProbe exit_probe_;
  Window window_;
  CaptureRecorder captures_;
  ParameterLayouts layouts_;
  RaceRecords races_;
  ModuleImages module_images_;
  MemoryRecorder memory_;
  GraphRecorder graphs_;
  KernelIds kernels_;
  Collectives collectives_;
  Interner interner_;
  Threads threads_;
};

}  // namespace cudadiag::record
