#include "record/recorder.h"

#include <stdio.h>

#include "record/calls/failures.h"
#include "record/libc_substitutes.h"
#include "record/python/refused_allocations.h"
#include "record/this_thread.h"

namespace cudadiag::record {

namespace area = wire::area;

static_assert(area::kThreads <= 256 && area::kStreams < 65536 && area::kSites <= 65536, "fields of an operation");

bool Recorder::start(CUpti_CallbackFunc callback, const Options& options) {
  options_ = options;
  if (!area_.open()) return false;
  attach_area();
  if (!options.window.empty()) interner_.keep_keys();
  describe_process(interner_);
  if (!driver_.load()) {
    interner_.note("driver-not-found", "the CUDA driver (libcuda.so.1) was not found among the loaded libraries");
    area_.set_state(area::State::disabled);
    return true;
  }
  start_parts();
  driver_log::start(driver_);
  int version = 0;
  if (driver_.driver_get_version(&version) == CUDA_SUCCESS) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    interner_.property("cuda", text);
  }
  if (!calls_.start(callback, driver_, interner_, options.record)) {
    area_.set_state(area::State::disabled);
    area_.wake_launcher();
    return true;
  }
  calls_.enable(options.record.races || options.record.code);
  start_saving();
  operations_.started();
  if (options.record.end_on_failure) failed_calls_.end_process();
  if (!awaits_core_dump()) return true;
  operations_.exclusive_wait().expect_dump(core_dump_.arm(driver_, interner_, options.folder, area_.start()));
  if (options.tool_loaded_cupti) {
    interner_.note(
        "core-dump-off",
        "the library in CUDA_INJECTION64_PATH has loaded CUPTI, and the driver writes no GPU core dump while "
        "a tool uses CUPTI");
  }
  return true;
}

// Attaches the parts that do not need the driver.
void Recorder::attach_area() {
  interner_.attach(area_);
  threads_.attach(area_);
  operations_.attach(area_, interner_);
  kernels_.attach(interner_, driver_, calls_.source());
  operations_.sites().attach(area_, interner_, kernels_, window_, hook_);
  captures_.attach(operations_.streams(), operations_.sites());
  failed_calls_.attach(interner_, driver_, operations_, captures_, calls_, launch_blocking_);
  blocking_calls_.attach(interner_, operations_.sites(), operations_.streams(), calls_.source());
  exit_probe_.attach(area_, interner_, driver_, operations_.streams(), operations_.failures(), threads_);
}

void Recorder::start_parts() {
  operations_.start(area_, interner_, driver_, options_.record.markers);
  const bool samples = options_.record.check_copies != 0 && !options_.record.races;
  operations_.follow(graphs_, options_.record.races || samples ? &races_ : nullptr, launch_blocking_);
  memory_.attach(area_, driver_, operations_);
  collectives_.attach(area_);
  layouts_.attach(area_, driver_);
  operations_.latest().attach(layouts_);
  operations_.tables().attach(area_);
  graphs_.attach(area_, interner_, driver_, memory_.allocations(), operations_.sites());
  graphs_.follow(window_, operations_.exclusive_wait());
  if (options_.record.races) {
    races_.attach(driver_, layouts_, operations_.streams(), memory_.allocations(), options_.record.host_writes);
    memory_.record_races(races_);
    graphs_.record_races(races_);
  } else if (samples) {
    races_.sample(driver_, layouts_, operations_.streams(), interner_, options_.record.check_copies);
    memory_.record_races(races_);
    graphs_.record_races(races_);
  }
  if (options_.record.races || options_.record.code) {
    module_images_.attach(interner_, options_.folder,
                          options_.record.races ? ModuleImages::Keep::all : ModuleImages::Keep::small);
  }
  operations_.sites().start({options_.record.python_stacks, options_.record.native_stacks, options_.hook});
  if (options_.record.native_stacks) calls_.meet_first_runtime();
  operations_.sites().seek_loaded_python();
  start_rerun();
}

void Recorder::start_rerun() {
  if (options_.window.empty()) return;
  if (!window_.read(options_.window)) {
    interner_.note("window-not-read", "CUDADIAG_WINDOW is not valid: the rerun waited for no operations");
  } else if (!window_.empty()) {
    operations_.exclusive_wait().start(window_.patience());
  }
}

void Recorder::start_saving() {
  if (options_.record.save_limit == 0) return;
  if (!calls_.source().by_hooks()) {
    return interner_.note("launch-not-saved", "launches were not saved: saving requires hooks, but CUPTI was used");
  }
  const LaunchSaver::Sources sources = {area_, interner_, driver_, memory_.allocations(), layouts_};
  LaunchSaver* saver = LaunchSaver::make(sources, options_.folder, std::uint64_t{options_.record.save_limit} << 20);
  if (saver == nullptr)
    return interner_.note("launch-not-saved", "launches were not saved: not enough memory, or no folder to save to");
  NodeSaver* nodes = nullptr;
  if (!window_.nodes().empty()) {
    nodes = NodeSaver::make({driver_, saver->api(), interner_, layouts_, window_.nodes()}, *saver);
    if (nodes == nullptr)
      return interner_.note("launch-not-saved", "launches were not saved: not enough memory to keep track of graphs");
    graphs_.save_by(nodes->graphs());
  }
  operations_.save_by(*saver, nodes);
}

ThreadState* Recorder::acquire_thread() {
  ThreadState* thread = threads_.acquire();
  if (thread != nullptr) {
    operations_.sites().thread_started(*thread, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  }
  return thread;
}

// The site has Kind::none, like the site of a call that issues no operation.
void Recorder::collective(ThreadState* thread, const CollectiveCall& call, std::uintptr_t frame) {
  constexpr std::uint32_t kNoCall = 0;
  constexpr std::uint8_t kNoThread = 0xff;
  if (operations_.frozen() || !collectives_.attached()) return;
  std::uint32_t site = 0;
  if (thread != nullptr) {
    site = operations_.sites().enter(*thread, kNoCall, wire::operation::Kind::none, nullptr, nullptr, frame).site;
  }
  collectives_.called(call, thread == nullptr ? kNoThread : static_cast<std::uint8_t>(thread->index), site);
}

// ---- driver calls

void Recorder::enter_driver_call(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                                 std::uintptr_t frame) {
  if (operations_.frozen()) [[unlikely]]
    return;
  const CallRule& rule = record::driver_call(id);
  if (thread == nullptr) [[unlikely]]
    return enter_unrecorded(id, rule, data);
  if (thread->open.record != nullptr) [[unlikely]]
    interrupt(*thread);
  std::byte* entry = thread->entry;
  wire::store(entry, wire::thread::kCallTicks, ticks());
  wire::store(entry, wire::thread::kCallId, id);
  wire::store(entry, wire::thread::kCallDomain, static_cast<std::uint32_t>(wire::error::Domain::driver));
  if (rule.kind == wire::operation::Kind::kernel && operations_.plain()) [[likely]]
    return operations_.enter(*thread, id, kernel_rule(rule), data, frame, true);
  enter_any(*thread, id, rule, data, frame);
}

void Recorder::enter_any(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
                         std::uintptr_t frame) {
  if (rule.role == Role::operation) operations_.enter(thread, id, rule, data, frame, false);
  if (!rule.only_issues) enter_other(thread, id, rule, data, frame);
}

void Recorder::leave_driver_call(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                                 std::uintptr_t frame) {
  const CallRule& rule = record::driver_call(id);
  const auto* returned = static_cast<const CUresult*>(data.functionReturnValue);
  const std::uint32_t result = returned == nullptr ? 0 : static_cast<std::uint32_t>(*returned);
  const bool launched = rule.kind == wire::operation::Kind::kernel && result == CUDA_SUCCESS;
  if (thread == nullptr || !launched || !operations_.plain()) [[unlikely]]
    return leave_any(thread, {id, result}, rule, data, frame);
  wire::store(thread->entry, wire::thread::kCallDomain, 0);
  if (!operations_.frozen()) [[likely]]
    operations_.leave(*thread, kernel_rule(rule), CUDA_SUCCESS, true);
  thread->open = {};
  if (thread->interrupts) [[unlikely]]
    resume(*thread);
}

void Recorder::leave_any(ThreadState* thread, Returned returned, const CallRule& rule, const CUpti_CallbackData& data,
                         std::uintptr_t frame) {
  const auto [id, result] = returned;
  if (thread != nullptr) {
    wire::store(thread->entry, wire::thread::kCallDomain, 0);
    if (rule.role == Role::operation && !operations_.frozen()) [[likely]] {
      operations_.leave(*thread, rule, result, false);
      if (operations_.races() != nullptr && result == CUDA_SUCCESS) [[unlikely]]
        races_.issued(*thread, id, data);
    }
    if (!rule.only_issues) [[unlikely]]
      leave_other(*thread, id, rule, data, result);
  }
  if (!rule.only_issues || result != CUDA_SUCCESS) [[unlikely]]
    look_at_result(thread, returned, rule, data, frame);
  if (thread == nullptr) return;
  if (operations_.races() != nullptr) [[unlikely]]
    races_.call_ends(*thread, result == CUDA_SUCCESS);
  thread->open = {};
  operations_.exclusive_wait().leave(*thread);
  if (thread->interrupts) [[unlikely]]
    resume(*thread);
}

// Sets aside an open operation whose call a signal handler has interrupted. The handler either makes the current call
// itself, or has abandoned the interrupted call with longjmp().
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

void Recorder::look_at_result(ThreadState* thread, Returned returned, const CallRule& rule,
                              const CUpti_CallbackData& data, std::uintptr_t frame) {
  const bool ok = returned.result == CUDA_SUCCESS;
  if (rule.role == Role::look_up) return;
  if (thread == nullptr && rule.role == Role::capture_begin && !ok) captures_.refuse(nullptr, rule, data);
  if (rule.memory && ok && !operations_.frozen()) {
    thread != nullptr ? memory_.note(*thread, returned.id, data, frame)
                      : memory_.note_unrecorded(returned.id, rule, data);
  }
  if (rule.role == Role::peer_access && ok) memory_.note_peer_access(returned.id, data);
  if (!is_answer(returned.result)) {
    failed_calls_.driver_call_failed(thread, returned.id, data, returned.result, frame);
  }
  if (rule.role == Role::capture_end) captures_.end(thread, rule, data, returned.result);
}

void Recorder::enter_other(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
                           std::uintptr_t frame) {
  if (operations_.races() != nullptr) {
    if (rule.role != Role::operation && races_.compares(thread)) {
      constexpr auto kNone = wire::operation::Kind::none;
      races_.call_entered(thread, operations_.sites().site_of(thread, id, kNone, frame), kNone);
    }
    races_.call_begins(thread, id, rule, data);
  }
  ExclusiveWait& alone = operations_.exclusive_wait();
  switch (rule.role) {
    case Role::stream_wait: {
      Call call;
      rule.decode(data.functionParams, call);
      call.stream.per_thread = rule.per_thread;
      Streams& streams = operations_.streams();
      streams.begin_wait(thread, streams.find(thread, call.stream, data.contextUid));
      break;
    }
    case Role::context_wait:
      operations_.streams().begin_context_wait(thread);
      break;
    case Role::capture_begin:
      if (alone.on()) alone.pass(thread);
      captures_.begin(&thread, id, rule, data, frame);
      break;
    case Role::graph:
      graphs_.enter(thread, id, data, frame);
      break;
    case Role::event_forgotten:
      operations_.note_event(thread, rule, data);
      break;
    case Role::event_shared:
      area_.note_events_unseen();
      break;
    case Role::look_up:
    case Role::initialise:
      calls_.runtime_may_start(id, data);
      break;
    default:
      break;
  }
  if (rule.ends_stream) {
    // A waiting thread may be polling this stream's handle, so the stream must not be destroyed yet.
    if (alone.on()) alone.pass(thread);
    operations_.mark_last(rule, data);
  }
  if (rule.blocks) blocking_calls_.enter(thread, id, rule, data, frame);
  if (rule.ends_context) exit_probe_.before_context_ends(id, data);
}

void Recorder::enter_unrecorded(std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data) {
  if (rule.role == Role::operation) area_.count(area::kDroppedOperations);
  if (operations_.races() != nullptr) races_.call_begins_unrecorded();
  if (rule.role == Role::capture_begin) captures_.begin(nullptr, id, rule, data, 0);
  if (rule.role == Role::graph) graphs_.forget(id, data);
  if (rule.role == Role::look_up || rule.role == Role::initialise) calls_.runtime_may_start(id, data);
  if (rule.role == Role::event_forgotten || rule.role == Role::event_shared) area_.note_events_unseen();
  if (rule.ends_stream) operations_.mark_last(rule, data);
  if (rule.memory) t_this.entered = ticks();
}

void Recorder::leave_other(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
                           std::uint32_t result) {
  const bool ok = result == CUDA_SUCCESS;
  if (rule.blocks) BlockingCalls::leave(thread);
  graphs_.remove_markers(thread, ok);
  if (operations_.frozen()) return;
  if (ok) kernels_.looked_up(id, data.functionParams);
  if (ok && operations_.saver() != nullptr) operations_.saver()->returned(id, data.functionParams);
  switch (rule.role) {
    case Role::operation:
    case Role::look_up:
      break;
    case Role::stream_wait:
    case Role::context_wait:
    case Role::event_wait:
      if (ok) finish_wait(thread, id, rule, data);
      break;
    case Role::capture_begin:
      if (!ok) captures_.refuse(&thread, rule, data);
      break;
    case Role::capture_end:
      break;  // look_at_result() ends the capture, after it has recorded the call's error
    case Role::graph:
      graphs_.leave(thread, id, data, ok);
      break;
    default:
      if (ok) operations_.see_context(data);
      if (ok && rule.role == Role::load_code) {
        operations_.autograd().look_again();
        caching_allocator::look();
        uncaught_refusal::look();
      }
      if (ok && options_.record.races) races_.returned(thread, id, data);
      break;
  }
}

void Recorder::finish_wait(ThreadState& thread, std::uint32_t id, const CallRule& rule,
                           const CUpti_CallbackData& data) {
  Streams& streams = operations_.streams();
  if (rule.role == Role::event_wait) {
    operations_.note_event(thread, rule, data);
  } else if (rule.role == Role::stream_wait) {
    streams.finish_wait(thread);
    if (options_.record.races) races_.host_saw_stream(thread, thread.waited_stream);
  } else {
    const std::uint32_t context = blocking_calls_.context_waited_for(id, data);
    streams.finish_context_wait(thread, context);
    if (options_.record.races) races_.host_saw_context(thread, streams.context_index(context));
  }
}

// ---- other callbacks: contexts and streams that end, modules that are loaded and unloaded

void Recorder::resource(ThreadState* thread, std::uint32_t id, const CUpti_ResourceData& data, std::uintptr_t frame) {
  // Ignores the program's cleanup after a failure, so that the recording keeps the state at the failure.
  if (operations_.frozen()) return;
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING: {
      const std::uint32_t uid = calls_.source().context_uid(data.context);
      const std::uint32_t context = operations_.streams().context_index(uid);
      memory_.context_destroyed(thread, context, frame);
      captures_.context_destroyed(context);
      if (operations_.races() != nullptr) races_.stream_ends();
      operations_.context_destroyed(uid);
      break;
    }
    case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING:
      if (operations_.races() != nullptr) races_.stream_ends();
      operations_.streams().stream_destroyed(data.resourceHandle.stream);
      captures_.stream_destroyed(data.resourceHandle.stream);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      module_loaded(data);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      operations_.sites().code_unloaded();
      layouts_.module_unloaded();
      break;
    default:
      break;
  }
}

void Recorder::module_loaded(const CUpti_ResourceData& data) {
  const auto* module = static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
  if (module == nullptr || module->pCubin == nullptr) return;
  module_images_.save({reinterpret_cast<const std::byte*>(module->pCubin), module->cubinSize});
}

// ---- forks

std::uint32_t Recorder::note_fork(ThreadState& thread, std::uintptr_t frame) {
  constexpr std::uint32_t kNoCall = 0;
  const std::uint32_t site = operations_.sites().site_of(thread, kNoCall, wire::operation::Kind::none, frame);
  char text[16];
  snprintf(text, sizeof text, "%u", site);
  interner_.property("forked_at", text);
  return site;
}

bool Recorder::start_in_child(const ForkOrigin& origin) {
  const Recorder& parent = *origin.parent;
  if (!area_.open()) return false;
  driver_ = parent.driver_;
  attach_area();
  operations_.streams().attach(area_, interner_, driver_, wire::Markers::off);
  operations_.sites().adopt(parent.operations_.sites());
  describe_process(interner_);
  char text[32];
  snprintf(text, sizeof text, "%u %u", origin.pid, origin.site);
  interner_.property("forked_from", text);
  return true;
}

void Recorder::refused_in_child(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                                std::uintptr_t frame) {
  failed_calls_.driver_call_failed(thread, id, data, kRefusedInChild, frame);
}

}  // namespace cudadiag::record
