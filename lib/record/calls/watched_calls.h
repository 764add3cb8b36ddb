// Decides which calls of the driver and of the runtimes the recorder gets callbacks for, and when that changes. Owns
// the source of the callbacks.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "record/cupti/driver_api.h"
#include "record/cupti/runtimes.h"
#include "record/output/interner.h"
#include "record/watch.h"

namespace cudadiag::record {

class WatchedCalls {
 public:
  // Walks the stack: inside the first cuInit.
  void meet_first_runtime() { runtimes_.meet_first(); }
  // False: nothing calls the recorder; a note says why.
  bool start(CUpti_CallbackFunc callback, const DriverApi& driver, Interner& interner, wire::WatchBy way) {
    return watch_.start(callback, driver, interner, way);
  }
  void enable(bool races);
  const Watch& watch() const { return watch_; }

  // ENTER of a call by which a runtime may start.
  void runtime_may_start(std::uint32_t id, const CUpti_CallbackData& data);
  // A driver call has failed. The runtime's launch around it, if that has no callback; null: none is known.
  const char* driver_call_failed(const char* name, bool launch);
  // From the first failure on it matters which calls ask for the last error; before that these two are called too
  // often.
  void watch_last_error();

  static bool asks_for_last_error(std::uint32_t id) {
    return id == CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020 ||
           id == CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020;
  }

 private:
  void watch_launches();

  std::atomic<bool> last_error_ = false;
  std::atomic<bool> launches_ = false;  // the runtimes', too
  Watch watch_;
  Runtimes runtimes_;
};

}  // namespace cudadiag::record
