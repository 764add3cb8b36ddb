// The source of the recorder's callbacks: CUPTI or hooks. Hooks cost less and leave CUPTI to other tools, but they do
// not see errors that a runtime keeps to itself, unless they can redirect its functions. If the user did not choose,
// the recorder uses CUPTI only if the user's code has a runtime that hooks cannot redirect, if it calls a shared one,
// or if the recorder looks for races.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "record/driver_api.h"
#include "record/hooks/cupti_api.h"
#include "record/hooks/hooks.h"
#include "record/hooks/runtimes.h"
#include "record/output/interner.h"
#include "wire/environment.h"

namespace cudadiag::record {

class CallbackSource {
 public:
  // Leaves notes and properties about the source. Returns false if there will be no callbacks.
  bool start(CUpti_CallbackFunc callback, const DriverApi& driver, Interner& interner,
             const wire::RecordOptions& options);

  bool by_hooks() const { return by_hooks_; }
  // May be called at any time, even inside a callback.
  void enable(CUpti_CallbackDomain domain, std::uint32_t id) {
    by_hooks_ ? hooks_.enable(domain, id) : cupti_.enable(domain, id);
  }
  std::string_view call_name(CUpti_CallbackDomain domain, std::uint32_t id) const {
    return by_hooks_ ? hooks_.call_name(domain, id) : cupti_.call_name(domain, id);
  }
  std::uint32_t context_uid(CUcontext context) const {
    return by_hooks_ ? hooks_.context_uid(context) : cupti_.context_uid(context);
  }

 private:
  bool start_hooks(CUpti_CallbackFunc callback, const DriverApi& driver, Interner& interner);

  bool by_hooks_ = false;
  CuptiApi cupti_;
  Hooks hooks_;
};

// Enables callbacks for the driver and runtime calls that matter, and for more calls when necessary. Owns the source of
// the callbacks.
class WatchedCalls {
 public:
  // Walks the stack. Call this inside the first cuInit.
  void meet_first_runtime() { runtimes_.meet_first(); }
  // Returns false if the recorder gets no callbacks; a note then gives the reason.
  bool start(CUpti_CallbackFunc callback, const DriverApi& driver, Interner& interner,
             const wire::RecordOptions& options) {
    interner_ = &interner;
    return source_.start(callback, driver, interner, options);
  }
  // If `modules` is true, the recorder also gets a callback when the driver loads device code.
  void enable(bool modules);
  const CallbackSource& source() const { return source_; }

  // Called at ENTER of a driver call that may be the first one of a runtime.
  void runtime_may_start(std::uint32_t id, const CUpti_CallbackData& data);
  // Called when a driver call has failed. If a runtime launch without a callback made this call, returns the launch's
  // name. Otherwise, returns null.
  const char* driver_call_failed(const char* name, bool launch);
  // Call this at the first failure. Calls that query the last error matter only after a failure, and are too frequent
  // to be watched from the start.
  void watch_last_error();

  static bool asks_for_last_error(std::uint32_t id) {
    return id == CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020 ||
           id == CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020;
  }

 private:
  void watch_launches();

  std::atomic<bool> last_error_ = false;
  std::atomic<bool> launches_ = false;  // true if the runtimes' launches are watched, too
  Interner* interner_ = nullptr;
  CallbackSource source_;
  Runtimes runtimes_;
};

}  // namespace cudadiag::record
