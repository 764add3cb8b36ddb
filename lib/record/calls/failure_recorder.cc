#include "record/calls/failure_recorder.h"

#include "record/calls/memory_and_graph_call_rules.h"
#include "record/this_thread.h"
#include "wire/pass_files.h"

namespace cudadiag::record {

namespace operation = wire::operation;
using operation::Kind;
using wire::error::Domain;

void FailureRecorder::attach(Interner& interner, const DriverApi& driver, OperationRecorder& operations,
                             const CaptureRecorder& captures, WatchedCalls& calls, const LaunchBlocking& blocking) {
  interner_ = &interner;
  driver_ = &driver;
  operations_ = &operations;
  captures_ = &captures;
  calls_ = &calls;
  blocking_ = &blocking;
}

void FailureRecorder::add(ThreadState* thread, Return returned, const CUpti_CallbackData& data, std::uintptr_t frame) {
  if (operations_->frozen()) return;
  const bool of_driver = returned.domain == Domain::driver;
  Call call;
  bool launch = false;
  FailedCall failed{};
  failed.domain = returned.domain;
  failed.id = returned.id;
  failed.name = data.functionName;
  failed.code = returned.code;
  failed.of_call = returned.of_call;
  failed.stream = operation::kNoStream;
  if (of_driver) {
    const CallRule& rule = driver_call(returned.id);
    if (rule.decode != nullptr) rule.decode(data.functionParams, call);
    launch = rule.kind == Kind::kernel;
    if (thread != nullptr && thread->open.record != nullptr) {
      failed.stream = thread->open.stream;
      failed.site = thread->open.site;
    }
  } else {
    launch = decode_runtime_launch(returned.id, data.functionParams, call);
  }
  failed.call = &call;
  failed.launch = launch;
  if (thread != nullptr && failed.site == 0) {
    SiteFinder& sites = operations_->sites();
    failed.site = launch ? sites.site_of_launch(*thread, returned.id, call.function, data.symbolName, frame)
                         : sites.site_of(*thread, returned.id, Kind::none, frame);
  }
  failed.context = operations_->streams().context_index(data.contextUid);
  if (thread != nullptr && of_driver) failed.started = wire::load(thread->entry, wire::thread::kCallTicks);
  Capture capture;
  if (thread != nullptr && wire::error::is_of_capture(returned.code)) {
    capture = captures_->concerned(*thread, of_driver ? &driver_call(returned.id) : nullptr, data);
  }
  failed.capture = &capture;
  if (of_driver) {
    failed.bytes = bytes_asked_for(returned.id, data.functionParams);
    failed.outer = calls_->driver_call_failed(data.functionName, launch);
  }
  if (returned.code == CUDA_ERROR_OUT_OF_MEMORY && returned.of_call == 0) ask_what_is_left(failed);
  // Other memory calls have pointers among their arguments, which may be invalid after a failed call.
  if (of_driver && returned.code == CUDA_ERROR_INVALID_VALUE && memory_call(returned.id) == MemoryCall::What::frees)
    failed.pointer = decode_memory_call(returned.id, data.functionParams).address;
  const bool refused = returned.code == CUDA_ERROR_INVALID_VALUE || returned.code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (launch && of_driver && refused) ask_for_limits(failed);
  failed.explanation = driver_log::explanation();
  if (is_sticky(returned.code) && !operations_->frozen()) blocking_->note_if_set_late(*interner_);
  const std::uint64_t record = operations_->failures().add(thread, failed);
  if (of_driver) t_this.runtime_error = record;
  if (!operations_->frozen()) {
    calls_->watch_last_error();
  } else if (ends_process_.exchange(false)) {
    end_soon();
  }
}

void FailureRecorder::ask_what_is_left(FailedCall& failed) const {
  if (driver_->mem_get_info == nullptr || operations_->streams().capture_going_on()) return;
  const RelaxedCapture relaxed(*driver_);
  std::size_t free = 0, total = 0;
  if (driver_->mem_get_info(&free, &total) != CUDA_SUCCESS) return;
  failed.device_free = free;
  failed.device_total = total;
}

// The program may have passed a CUkernel as a CUfunction. Each query rejects handles of the other type.
void FailureRecorder::ask_for_limits(FailedCall& failed) const {
  const CUfunction function = failed.call->function;
  if (driver_->func_get_attribute == nullptr || function == nullptr) return;
  const auto of_kernel = [&](int& value, CUfunction_attribute which) {
    CUdevice device = 0;
    return driver_->kernel_get_attribute != nullptr && driver_->ctx_get_device != nullptr &&
           driver_->ctx_get_device(&device) == CUDA_SUCCESS &&
           driver_->kernel_get_attribute(&value, which, reinterpret_cast<CUkernel>(function), device) == CUDA_SUCCESS;
  };
  const auto limit = [&](CUfunction_attribute which) -> std::uint64_t {
    int value = 0;
    const bool known = driver_->func_get_attribute(&value, which, function) == CUDA_SUCCESS || of_kernel(value, which);
    return known && value > 0 ? static_cast<std::uint64_t>(value) : 0;
  };
  failed.most_threads = limit(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  failed.most_shared = limit(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
}

void FailureRecorder::runtime_call_returned(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                                            std::uintptr_t frame) {
  const std::uint32_t result = runtime_result(data);
  if (WatchedCalls::asks_for_last_error(id)) {
    if (thread == nullptr) return;
    const std::uint64_t of_call = operations_->failures().looked_at(*thread, result);
    // A capture error needs no second record: the failed call's own record is enough.
    if (of_call != 0 && !wire::error::is_of_capture(result)) {
      add(thread, {Domain::runtime, id, result, of_call}, data, frame);
    }
  } else if (!is_answer(result)) {
    if (t_this.runtime_error != 0) {
      operations_->failures().set_outer_code(t_this.runtime_error, result);
    } else {
      add(thread, {Domain::runtime, id, result}, data, frame);
    }
  }
}

void FailureRecorder::allocator_refused(ThreadState* thread, std::uint64_t bytes, std::uintptr_t frame) {
  if (operations_->frozen() || thread == nullptr) return;
  // If the allocator's driver call ran out of memory, that call is already recorded.
  if (operations_->failures().lacks_memory(*thread)) return;
  add_refused(*thread,
              {wire::error::kCachingAllocator, bytes, operations_->sites().site_of(*thread, 0, Kind::none, frame)});
}

void FailureRecorder::refusal_uncaught(ThreadState* thread, const uncaught_refusal::Refusal& refusal) {
  if (operations_->frozen() || thread == nullptr) return;
  // Checks all threads, because JAX also calls the driver on its own threads.
  if (operations_->failures().lack_memory()) return;
  add_refused(*thread, {refusal.request.pool, refusal.request.bytes,
                        operations_->sites().site_of_traceback(*thread, refusal.frames), refusal.message});
}

void FailureRecorder::add_refused(ThreadState& thread, const Refused& refused) {
  FailedCall failed{};
  failed.domain = Domain::runtime;
  failed.name = refused.pool;
  failed.code = CUDA_ERROR_OUT_OF_MEMORY;
  failed.stream = operation::kNoStream;
  failed.context = Streams::kNone;
  failed.site = refused.site;
  failed.bytes = refused.bytes;
  failed.explanation = refused.explanation;
  ask_what_is_left(failed);
  operations_->failures().add(&thread, failed);
}

void FailureRecorder::device_failed(ThreadState* waiting) {
  if (operations_->frozen()) return;
  interner_->property(wire::core_dump::kProperty, wire::core_dump::kWritten);
  // CUDA_ERROR_LAUNCH_FAILED is a placeholder. The call never returns, and only the core dump shows the actual error.
  FailedCall failed{};
  failed.domain = Domain::driver;
  failed.name = "";
  failed.code = CUDA_ERROR_LAUNCH_FAILED;
  failed.stream = operation::kNoStream;
  failed.context = Streams::kNone;
  if (waiting != nullptr) {
    failed.id = wire::load(waiting->entry, wire::thread::kCallId);
    const std::string_view name = calls_->source().call_name(CUPTI_CB_DOMAIN_DRIVER_API, failed.id);
    if (!name.empty()) failed.name = name.data();
    failed.site = wire::load(waiting->entry, wire::thread::kCallSite);
    failed.context = wire::load(waiting->entry, wire::thread::kCallContext);
    failed.started = wire::load(waiting->entry, wire::thread::kCallTicks);
    failed.tid = waiting->tid;
  }
  blocking_->note_if_set_late(*interner_);
  operations_->exclusive_wait().device_failed();
  operations_->failures().add(waiting, failed);
}

}  // namespace cudadiag::record
