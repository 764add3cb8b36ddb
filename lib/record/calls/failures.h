// Failed calls: keeps them in the area, follows what happened after each, and freezes the recording at the first sticky
// one.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "record/calls/calls.h"
#include "record/graphs/captures.h"
#include "record/lock.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "record/output/interner.h"
#include "wire/error.h"

namespace cudadiag::record {

struct FailedCall {
  wire::error::Domain domain;
  std::uint32_t id;
  const char* name;
  std::uint32_t code;
  std::uint32_t site;
  std::uint32_t stream;   // index, or none
  std::uint32_t context;  // index, or none
  const Call* call;       // its arguments; null: not decoded
  bool launch;
  bool at_exit;
  bool own_wait;
  std::uint64_t started = 0;         // ticks; 0: not known
  std::string_view explanation{};    // the driver's own words
  const Capture* capture = nullptr;  // that it is about; null: none is known
  std::uint64_t bytes = 0;           // requested bytes, if `call` does not have them
  std::uint64_t device_free = 0, device_total = 0;
  const char* outer = nullptr;  // the runtime call around it, if that has no callback
  std::uint64_t of_call = 0;    // serial of the failed call whose error this one returned; 0: it failed itself
  std::uint32_t tid = 0;        // of the thread that is in the call; 0: the calling one
};

using wire::error::is_sticky;
// Codes that are answers, not failures.
inline bool is_answer(std::uint32_t code) { return code == 0 || code == 600; }

class Failures {
 public:
  void attach(AreaMap& area, Interner& interner, Streams& streams);

  // `thread` may be null. Returns the serial of its record; 0: not kept.
  std::uint64_t add(ThreadState* thread, const FailedCall& failed);
  // The runtime call around a failed driver call has returned too.
  void set_outer_code(std::uint64_t serial, std::uint32_t code);
  // The thread asked for its last error, which is `code`. Returns the serial of the call that had left it behind, the
  // first of several in one place, if the thread asks for the first time since, and has worked in between; else 0.
  std::uint64_t looked_at(ThreadState& thread, std::uint32_t code);
  // Whether the last call of the thread that failed ran out of memory, and the thread has issued nothing since.
  bool lacks_memory(const ThreadState& thread);
  // It has issued an operation successfully.
  void worked(ThreadState& thread);

  bool frozen() const { return frozen_.load(std::memory_order_acquire); }

 private:
  std::byte* record(std::uint32_t index) const;
  // Callers of these hold the lock. Null: the record has been another failure's since.
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

}  // namespace cudadiag::record
