#include "record/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "record/calls/driver_log.h"
#include "record/calls/memory_calls.h"
#include "record/clock.h"
#include "record/this_thread.h"
#include "wire/core_dump.h"
#include "wire/race_record.h"

namespace cudadiag::record {

namespace area = wire::area;
namespace operation = wire::operation;
using operation::Kind;

static_assert(area::kThreads <= 256 && area::kStreams < 65536 && area::kSites <= 65536, "fields of an operation");

bool Recorder::start(CUpti_CallbackFunc callback, const Options& options) {
  options_ = options;
  if (!area_.open()) return false;
  interner_.attach(area_);
  threads_.attach(area_);
  failures_.attach(area_, interner_, streams_);
  if (!options.window.empty()) interner_.keep_keys();
  describe_process();
  if (!driver_.load()) {
    interner_.note("driver-not-found", "the CUDA driver that loaded the recorder could not be found by name");
    area_.set_state(area::State::disabled);
    return true;
  }
  streams_.attach(area_, interner_, driver_, options_.markers);
  allocations_.attach(area_);
  layouts_.attach(area_, driver_);
  latest_.attach(area_, layouts_);
  if (options_.races) {
    races_.attach(driver_, layouts_, streams_);
    module_images_.attach(interner_, options_.folder);
  }
  graphs_.attach(area_, interner_, driver_, allocations_);
  graph_markers_.attach(area_, interner_, driver_);
  autograd_.attach(interner_);
  native_.start(interner_, function_generation_);
  if (options_.native) runtimes_.meet_first();
  if (options_.python && PythonStacks::is_loaded()) seek_python();
  open_window();
  driver_log::start(driver_);
  int version = 0;
  char text[512];
  if (driver_.driver_get_version(&version) == CUDA_SUCCESS) {
    snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    interner_.property("cuda", text);
  }
  if (!watch_.start(callback, driver_, interner_, options.watch_by)) {
    area_.set_state(area::State::disabled);
    area_.wake_launcher();
    return true;
  }
  enable_callbacks();
  if (options.once) arm_core_dump();
  return true;
}

// Within the process, by the driver's interface: an environment variable would arm its children too.
void Recorder::arm_core_dump() {
  char file[PATH_MAX];
  const int written = snprintf(file, sizeof file, "%s/%d%s", options_.folder == nullptr ? "" : options_.folder,
                               getpid(), wire::core_dump::kSuffix);
  if (options_.folder == nullptr || written < 0 || static_cast<std::size_t>(written) >= sizeof file) {
    interner_.note("core-dump-off", "there is no folder for a GPU core dump");
    return;
  }
  if (driver_.coredump_set_attribute_global == nullptr) {
    interner_.note("core-dump-off", "the driver cannot be asked for GPU core dumps (CUDA 12.1 and later can)");
    return;
  }
  // With the constant banks the driver was seen to begin a dump and not to finish it.
  int left_out = CU_COREDUMP_SKIP_NONRELOCATED_ELF_IMAGES | CU_COREDUMP_SKIP_GLOBAL_MEMORY |
                 CU_COREDUMP_SKIP_SHARED_MEMORY | CU_COREDUMP_SKIP_LOCAL_MEMORY | CU_COREDUMP_SKIP_CONSTBANK_MEMORY;
  bool yes = true;
  std::size_t file_size = static_cast<std::size_t>(written) + 1, flags_size = sizeof left_out, yes_size = sizeof yes;
  const auto set = driver_.coredump_set_attribute_global;
  CUresult result = set(CU_COREDUMP_FILE, file, &file_size);
  if (result == CUDA_SUCCESS) result = set(CU_COREDUMP_GENERATION_FLAGS, &left_out, &flags_size);
  if (result == CUDA_SUCCESS) result = set(CU_COREDUMP_ENABLE_ON_EXCEPTION, &yes, &yes_size);
  if (result != CUDA_SUCCESS) {
    snprintf(file, sizeof file, "the driver refused to write GPU core dumps (%d)", static_cast<int>(result));
    interner_.note("core-dump-off", file);
    return;
  }
  interner_.property(wire::core_dump::kProperty, "armed");
}

void Recorder::device_failed() {
  if (failures_.frozen()) return;
  interner_.property(wire::core_dump::kProperty, "written");
  ThreadState* waiting = threads_.latest_in_wait();
  // Which error the call would return, only the dump knows.
  FailedCall failed{wire::error::Domain::driver,
                    0,
                    "",
                    CUDA_ERROR_LAUNCH_FAILED,
                    0,
                    operation::kNoStream,
                    Streams::kNone,
                    nullptr,
                    false,
                    false,
                    false};
  if (waiting != nullptr) {
    failed.id = wire::load(waiting->entry, wire::thread::kCallId);
    failed.name = watch_.call_name(CUPTI_CB_DOMAIN_DRIVER_API, failed.id).data();
    if (failed.name == nullptr) failed.name = "";
    failed.site = wire::load(waiting->entry, wire::thread::kCallSite);
    failed.context = wire::load(waiting->entry, wire::thread::kCallContext);
    failed.started = wire::load(waiting->entry, wire::thread::kCallTicks);
    failed.tid = waiting->tid;
  }
  look_for_late_settings();
  failures_.add(waiting, failed);
}

void Recorder::open_window() {
  arguments_.attach(interner_, driver_);
  alone_.attach(area_, interner_, driver_, streams_, failures_, arguments_);
  if (options_.window.empty()) return;
  if (!window_.read(options_.window)) {
    interner_.note("window-not-read", "what to wait for could not be read: nothing was waited for");
  } else if (!window_.empty()) {
    alone_.start(window_.patience());
  }
}

void Recorder::enable_callbacks() {
  // A CUPTI newer than the headers knows calls beyond their last one.
  constexpr std::uint32_t kMostCalls = 2048;
  // Of a shared runtime hooks see them for next to nothing.
  watching_launches_ = !runtimes_.hand_launches_on() || watch_.by_hooks();
  const auto is_left_out = [&](CUpti_CallbackDomain domain, std::uint32_t id) {
    const auto& all = Runtimes::kLeftOut;
    return domain == CUPTI_CB_DOMAIN_RUNTIME_API && !watching_launches_ &&
           std::any_of(std::begin(all), std::end(all), [&](const auto& launch) { return launch.id == id; });
  };
  for (const auto domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API}) {
    for (std::uint32_t id = 1; id < kMostCalls; ++id) {
      const std::string_view name = watch_.call_name(domain, id);
      if (!name.empty() && !only_asks(name) && !is_left_out(domain, id)) watch_.enable(domain, id);
    }
  }
  if (!watching_launches_) {
    watch_.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress);
    watch_.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2);
  }
  for (const std::uint32_t id :
       {CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
        CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
        CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) {
    watch_.enable(CUPTI_CB_DOMAIN_RESOURCE, id);
  }
  if (options_.races) watch_.enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
}

// By callbacks of the runtimes, too, once one may not hand them on.
void Recorder::watch_launches() {
  if (runtimes_.hand_launches_on() || watching_launches_.exchange(true)) return;
  for (const auto& launch : Runtimes::kLeftOut) watch_.enable(CUPTI_CB_DOMAIN_RUNTIME_API, launch.id);
}

void Recorder::follow_runtimes(std::uint32_t id, const CUpti_CallbackData& data) {
  const auto looked_up = [&](const auto& parameters) {
    if (parameters.symbol != nullptr) Runtimes::looked_up(parameters.symbol, parameters.cudaVersion);
  };
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress:
      return looked_up(*static_cast<const cuGetProcAddress_params*>(data.functionParams));
    case CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2:
      return looked_up(*static_cast<const cuGetProcAddress_v2_params*>(data.functionParams));
    default:
      runtimes_.initialised();
      watch_launches();
  }
}

// ---- driver calls

void Recorder::see_context(const CUpti_CallbackData& data) {
  if (data.context == nullptr || data.contextUid == newest_context_.load(std::memory_order_relaxed)) return;
  if (streams_.context_index(data.contextUid) == Streams::kNone) {
    if (!streams_.context_created(data.context, data.contextUid)) return;
    keep_settings();
  }
  newest_context_.store(data.contextUid, std::memory_order_relaxed);
}

void Recorder::enter_driver_call(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                                 std::uintptr_t frame) {
  if (failures_.frozen()) [[unlikely]]
    return;
  const CallRule& rule = record::driver_call(id);
  if (thread == nullptr) [[unlikely]]
    return enter_unrecorded(id, rule, data);
  if (thread->open.record != nullptr) [[unlikely]]
    interrupt(*thread);
  wire::store(thread->entry, wire::thread::kCallTicks, ticks());
  wire::store(thread->entry, wire::thread::kCallId, id);
  wire::store(thread->entry, wire::thread::kCallDomain, static_cast<std::uint32_t>(wire::error::Domain::driver));
  if (rule.role == Role::operation) [[likely]]
    enter_operation(*thread, id, rule, data, frame);
  if (!rule.only_issues) [[unlikely]]
    enter_other(*thread, id, rule, data, frame);
}

void Recorder::leave_driver_call(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                                 std::uintptr_t frame) {
  const CallRule& rule = record::driver_call(id);
  const auto* returned = static_cast<const CUresult*>(data.functionReturnValue);
  const std::uint32_t result = returned == nullptr ? 0 : static_cast<std::uint32_t>(*returned);
  if (thread != nullptr) {
    wire::store(thread->entry, wire::thread::kCallDomain, 0);
    if (rule.role == Role::operation && !failures_.frozen()) [[likely]] {
      leave_operation(*thread, rule, result);
      if (options_.races && result == CUDA_SUCCESS) [[unlikely]]
        races_.issued(*thread, id, data);
    }
    if (!rule.only_issues) [[unlikely]]
      leave_other(*thread, id, rule, data, result);
  }
  if (!rule.only_issues || result != CUDA_SUCCESS) [[unlikely]]
    look_at_result(thread, id, rule, data, result, frame);
  if (thread == nullptr) return;
  thread->open = {};
  alone_.leave(*thread);
  if (thread->interrupts) [[unlikely]]
    resume(*thread);
}

// By a signal handler's call, or by the next one after a handler that jumped out of an operation's call: that operation
// then goes on being open between calls.
void Recorder::interrupt(ThreadState& thread) {
  thread.interrupted = thread.open;
  thread.interrupted_turn = thread.turn;
  thread.interrupts = true;
  thread.open = {};
  thread.turn = Turn::none;
}

void Recorder::resume(ThreadState& thread) {
  thread.open = thread.interrupted;
  thread.turn = thread.interrupted_turn;
  thread.interrupts = false;
}

void Recorder::look_at_result(ThreadState* thread, std::uint32_t id, const CallRule& rule,
                              const CUpti_CallbackData& data, std::uint32_t result, std::uintptr_t frame) {
  if (rule.role == Role::look_up) return;
  if (thread == nullptr && rule.role == Role::capture_begin && result != CUDA_SUCCESS) {
    refuse_capture(nullptr, rule, data);
  }
  if (rule.memory && result == CUDA_SUCCESS) {
    thread != nullptr ? note_memory(*thread, id, data, frame) : note_unrecorded_memory(id, rule, data);
  }
  if (rule.role == Role::peer_access && result == CUDA_SUCCESS) note_peer_access(id, data);
  if (!is_answer(result)) fail(thread, wire::error::Domain::driver, id, data, result, frame);
  if (rule.role == Role::capture_end) end_capture(thread, rule, data, result);
}

void Recorder::enter_other(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
                           std::uintptr_t frame) {
  switch (rule.role) {
    case Role::stream_wait: {
      Call call;
      rule.decode(data.functionParams, call);
      call.stream.per_thread = rule.per_thread;
      streams_.begin_wait(thread, streams_.find(thread, call.stream, data.contextUid));
      break;
    }
    case Role::context_wait:
      streams_.begin_context_wait(thread);
      break;
    case Role::capture_begin:
      if (alone_.on()) alone_.pass(thread);
      begin_capture(&thread, id, rule, data, frame);
      break;
    case Role::graph:
      enter_graph_call(thread, id, data, frame);
      break;
    case Role::event_forgotten:
      note_event(thread, rule, data);
      break;
    case Role::event_shared:
      area_.note_events_unseen();
      break;
    case Role::look_up:
    case Role::initialise:
      follow_runtimes(id, data);
      break;
    default:
      break;
  }
  if (rule.ends_stream) {
    // A stream that is waited for alone is asked by its handle.
    if (alone_.on()) alone_.pass(thread);
    mark_last(rule, data);
  }
  if (rule.blocks) show_call(thread, id, rule, data, frame);
  if (rule.ends_context) look_before_end(id, data);
}

void Recorder::enter_unrecorded(std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data) {
  if (rule.role == Role::operation) count_dropped();
  if (rule.role == Role::capture_begin) begin_capture(nullptr, id, rule, data, 0);
  if (rule.role == Role::graph) forget_graph(id, data);
  if (rule.role == Role::look_up || rule.role == Role::initialise) follow_runtimes(id, data);
  if (rule.role == Role::event_forgotten || rule.role == Role::event_shared) area_.note_events_unseen();
  if (rule.ends_stream) mark_last(rule, data);
  if (rule.memory) t_this.entered = ticks();
}

void Recorder::leave_other(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
                           std::uint32_t result) {
  const bool ok = result == CUDA_SUCCESS;
  if (rule.blocks) wire::store(thread.entry, wire::thread::kCallSite, 0);
  // Whatever has happened meanwhile: the graph is the program's.
  if (thread.markers.nodes != nullptr) graph_markers_.remove(thread.markers, ok);
  if (failures_.frozen()) return;
  switch (rule.role) {
    case Role::operation:
    case Role::look_up:
      break;
    case Role::stream_wait:
      if (ok) streams_.finish_wait(thread);
      if (ok && options_.races) races_.host_saw_stream(thread, thread.waited_stream);
      break;
    case Role::context_wait:
      if (ok) streams_.finish_context_wait(thread, context_waited_for(id, data));
      if (ok && options_.races) {
        races_.host_saw_context(thread, streams_.context_index(context_waited_for(id, data)));
      }
      break;
    case Role::event_wait:
      if (ok) note_event(thread, rule, data);
      break;
    case Role::capture_begin:
      if (!ok) refuse_capture(&thread, rule, data);
      break;
    case Role::capture_end:
      break;  // once its error, if it has one, is recorded
    case Role::graph:
      leave_graph_call(thread, id, data, ok);
      break;
    default:
      if (ok) see_context(data);
      if (ok && rule.role == Role::load_code) autograd_.look_again();
      if (ok && options_.races) races_.returned(thread, id, data);
      break;
  }
}

std::uint32_t Recorder::context_waited_for(std::uint32_t id, const CUpti_CallbackData& data) const {
  if (id != CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2) return data.contextUid;
  const CUcontext named = static_cast<const cuCtxSynchronize_v2_params*>(data.functionParams)->ctx;
  return named == nullptr || named == data.context ? data.contextUid : watch_.context_uid(named);
}

// How far a stream is that is destroyed while it is at work can be seen by a marker alone.
void Recorder::mark_last(const CallRule& rule, const CUpti_CallbackData& data) {
  if (rule.decode == nullptr) return;
  Call call;
  rule.decode(data.functionParams, call);
  const std::uint32_t stream = streams_.living(call.stream.handle);
  if (stream != Streams::kNone && streams_.context_of(stream) == streams_.context_index(data.contextUid) &&
      streams_.unmarked(stream) > 0 && !streams_.finished(stream, streams_.issued(stream))) {
    streams_.mark(stream);
  }
}

void Recorder::note_event(ThreadState& thread, const CallRule& rule, const CUpti_CallbackData& data) {
  Call call;
  rule.decode(data.functionParams, call);
  thread.open = {};
  thread.open.stream = operation::kNoStream;
  thread.open.flags = operation::kReturned;
  write_operation(thread, rule, call, 0);
  thread.open = {};
}

// ---- failed calls

void Recorder::fail(ThreadState* thread, wire::error::Domain domain, std::uint32_t id, const CUpti_CallbackData& data,
                    std::uint32_t code, std::uintptr_t frame, std::uint64_t of_call) {
  if (failures_.frozen()) return;
  Call call;
  bool launch = false;
  std::uint32_t stream = operation::kNoStream, where = 0;
  if (domain == wire::error::Domain::driver) {
    const CallRule& rule = record::driver_call(id);
    if (rule.decode != nullptr) rule.decode(data.functionParams, call);
    launch = rule.kind == Kind::kernel;
    if (thread != nullptr && thread->open.record != nullptr) {
      stream = thread->open.stream;
      where = thread->open.site;
    }
  } else {
    launch = decode_runtime_launch(id, data.functionParams, call);
  }
  if (thread != nullptr && where == 0) {
    const std::uint32_t function = launch ? function_id(call.function, data.symbolName) : 0;
    const Place at = place(*thread, id, Kind::none, function, frame);
    where = interner_.site(at.key, at.python, at.native, function, Kind::none, thread->index);
  }
  FailedCall failed{
      domain, id,   data.functionName, code, where, stream, streams_.context_index(data.contextUid), &call, launch,
      false,  false};
  Capture capture;
  if (thread != nullptr && domain == wire::error::Domain::driver) {
    failed.started = wire::load(thread->entry, wire::thread::kCallTicks);
    if (wire::error::is_of_capture(code)) {
      capture = captures_.concerned(captured_stream(thread, record::driver_call(id), data), thread->tid);
    }
  } else if (thread != nullptr && wire::error::is_of_capture(code)) {
    capture = captures_.concerned({}, thread->tid);
  }
  failed.capture = &capture;
  failed.of_call = of_call;
  if (domain == wire::error::Domain::driver) {
    failed.bytes = bytes_asked_for(id, data.functionParams);
    failed.outer = runtimes_.failed(data.functionName, launch);
    watch_launches();
  }
  if (code == CUDA_ERROR_OUT_OF_MEMORY && of_call == 0) ask_what_is_left(failed);
  failed.explanation = driver_log::explanation();
  if (is_sticky(code) && !failures_.frozen()) look_for_late_settings();
  const std::uint64_t record = failures_.add(thread, failed);
  if (domain == wire::error::Domain::driver) t_this.runtime_error = record;
  // From the first failure on it matters who asks for the last error; before that these two are called too often.
  if (!failures_.frozen() && !watching_last_error_.exchange(true)) {
    watch_.enable(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020);
    watch_.enable(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020);
  }
}

// ---- runtime calls

void Recorder::enter_runtime_call(std::uint32_t id) {
  // The runtime ends its context by calls that CUPTI does not show.
  if (id == CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020) look_before_reset();
}

void Recorder::leave_runtime_call(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                                  std::uintptr_t frame) {
  const std::uint32_t result = runtime_result(data);
  if (asks_for_last_error(id)) {
    if (thread == nullptr) return;
    const std::uint64_t of_call = failures_.looked_at(*thread, result);
    // Captures tell of theirs by themselves.
    if (of_call != 0 && !wire::error::is_of_capture(result))
      fail(thread, wire::error::Domain::runtime, id, data, result, frame, of_call);
  } else if (!is_answer(result)) {
    if (t_this.runtime_error != 0) {
      failures_.set_outer_code(t_this.runtime_error, result);
    } else {
      fail(thread, wire::error::Domain::runtime, id, data, result, frame);
    }
  }
}

}  // namespace cudadiag::record
