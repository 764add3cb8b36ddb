// Keeps failed calls in the area, and freezes the recording at the first sticky error. Also follows what the program
// does after each failed call.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "record/calls/call_rules.h"
#include "record/driver_api.h"
#include "record/libc_substitutes.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "record/output/interner.h"
#include "wire/error.h"

namespace cudadiag::record {

struct Capture;

struct FailedCall {
  wire::error::Domain domain;
  std::uint32_t id;
  const char* name;
  std::uint32_t code;
  std::uint32_t site;
  std::uint32_t stream;   // index, or kNoStream
  std::uint32_t context;  // index, or kNone
  const Call* call;       // the call's arguments; null if they were not decoded
  bool launch;
  bool at_exit;
  bool own_wait;
  std::uint64_t started = 0;         // ticks; 0 if unknown
  std::string_view explanation{};    // the driver's explanation of the failure
  const Capture* capture = nullptr;  // the capture that the error is about; null if unknown
  std::uint64_t bytes = 0;           // requested bytes; 0 if `call` has them
  std::uint64_t device_free = 0, device_total = 0;
  std::uint64_t most_threads = 0, most_shared = 0;  // the limits of a refused kernel
  std::uint64_t pointer = 0;                        // that a refused call should have freed
  const char* outer = nullptr;                      // the enclosing runtime call, if that call has no callback
  // if this call returned the error of an earlier call: the earlier call's serial; otherwise 0
  std::uint64_t of_call = 0;
  std::uint32_t tid = 0;  // the thread that made the call; 0 for the current thread
};

using wire::error::is_sticky;
// Returns true if the code is not a failure. 600 is cudaErrorNotReady: the GPU has not finished yet.
inline bool is_answer(std::uint32_t code) { return code == 0 || code == 600; }

class Failures {
 public:
  void attach(AreaMap& area, Interner& interner, Streams& streams);

  // `thread` may be null. Returns the serial of the record, or 0 if it was not kept.
  std::uint64_t add(ThreadState* thread, const FailedCall& failed);
  // Stores the return code of the runtime call that made the failed driver call.
  void set_outer_code(std::uint64_t serial, std::uint32_t code);
  // Call this when the thread has queried its last error and received `code`. Returns the serial of the call that set
  // the error. If several calls at one site set it, returns the first serial. Returns 0 if the thread has queried this
  // error before, or has issued no operation since that call.
  std::uint64_t looked_at(ThreadState& thread, std::uint32_t code);
  // Returns true if the thread's last failed call ran out of memory, and the thread has issued no operation since.
  bool lacks_memory(const ThreadState& thread);
  // Returns true if lacks_memory() is true for any thread.
  bool lack_memory();
  // Call this when the thread has issued an operation successfully.
  void worked(ThreadState& thread);

  bool frozen() const { return frozen_.load(std::memory_order_acquire); }

 private:
  std::byte* record(std::uint32_t index) const;
  // Callers of the following functions must hold the lock. find() returns null if a later failure has overwritten the
  // record.
  std::byte* find(std::uint64_t serial) const;
  void add_flag(std::uint64_t serial, std::uint8_t flag);
  bool left_behind(std::uint64_t serial, std::uint32_t code) const;
  bool failed_alike(std::uint64_t one, std::uint64_t other) const;
  void freeze(std::uint32_t record, std::uint32_t code);

  AreaMap* area_ = nullptr;
  Interner* interner_ = nullptr;
  Streams* streams_ = nullptr;
  Mutex mutex_;
  std::atomic<std::uint64_t> count_ = 0;
  std::atomic<bool> frozen_ = false;
};

// The driver's own explanation of a failed call (cuLogsRegisterCallback, CUDA 12.9 and later). Example: "One or more of
// block dimensions of (2048,1,1) exceeds …". The driver delivers the text on the calling thread before the call
// returns. The text stays available on that thread until the thread's next call.
namespace driver_log {

// Registers a callback for the driver's log, if the driver has cuLogsRegisterCallback. The program's own log callbacks
// and settings are unaffected.
void start(const DriverApi& driver);

void forget();
std::string_view explanation();

}  // namespace driver_log

}  // namespace cudadiag::record
