// Collects what is known about a failed call while the call returns (failures.h keeps it).
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "record/callback_source.h"
#include "record/calls/call_rules.h"
#include "record/calls/failures.h"
#include "record/driver_api.h"
#include "record/graphs/captures.h"
#include "record/operations/operation_recorder.h"
#include "record/operations/threads.h"
#include "record/output/interner.h"
#include "record/python/refused_allocations.h"
#include "wire/error.h"

namespace cudadiag::record {

// Returns the status that a runtime call returned, or 0 for calls without a status (cudaGetErrorName).
inline std::uint32_t runtime_result(const CUpti_CallbackData& data) {
  const auto* returned = static_cast<const cudaError_t*>(data.functionReturnValue);
  return returned == nullptr ? 0 : static_cast<std::uint32_t>(*returned);
}

// Collects the facts about each call that returned an error, and passes them to Failures.
class FailureRecorder {
 public:
  void attach(Interner& interner, const DriverApi& driver, OperationRecorder& operations,
              const CaptureRecorder& captures, WatchedCalls& calls, const LaunchBlocking& blocking);
  // Makes the first sticky error end the process.
  void end_process() { ends_process_ = true; }

  // The thread may be null in all of these functions.
  void driver_call_failed(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data, std::uint32_t code,
                          std::uintptr_t frame) {
    add(thread, {wire::error::Domain::driver, id, code}, data, frame);
  }
  // Called at EXIT of a runtime call that has failed, or that queries the last error.
  void runtime_call_returned(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                             std::uintptr_t frame);
  // Called when PyTorch's allocator rejected a request for `bytes` bytes although no CUDA call returned an error.
  void allocator_refused(ThreadState* thread, std::uint64_t bytes, std::uintptr_t frame);
  // Called when the program ends because a memory pool rejected a request.
  void refusal_uncaught(ThreadState* thread, const uncaught_refusal::Refusal& refusal);
  // Called when the driver has written a core dump and is about to terminate the process, so that the call in progress
  // never returns. `waiting` is the thread in that call.
  void device_failed(ThreadState* waiting);

 private:
  struct Return {
    wire::error::Domain domain;
    std::uint32_t id, code;
    std::uint64_t of_call = 0;  // see FailedCall
  };
  void add(ThreadState* thread, Return returned, const CUpti_CallbackData& data, std::uintptr_t frame);
  void ask_what_is_left(FailedCall& failed) const;
  void ask_for_limits(FailedCall& failed) const;
  struct Refused {
    const char* pool;  // a name from wire/error.h
    std::uint64_t bytes;
    std::uint32_t site;
    std::string_view explanation{};
  };
  void add_refused(ThreadState& thread, const Refused& refused);

  Interner* interner_ = nullptr;
  const DriverApi* driver_ = nullptr;
  OperationRecorder* operations_ = nullptr;
  const CaptureRecorder* captures_ = nullptr;
  WatchedCalls* calls_ = nullptr;
  const LaunchBlocking* blocking_ = nullptr;
  std::atomic<bool> ends_process_ = false;
};

}  // namespace cudadiag::record
