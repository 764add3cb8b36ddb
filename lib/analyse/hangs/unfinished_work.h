// GPU work of a process that may not have finished: the process runs, is stuck, or has ended. Events, memory operations
// and the calls that threads are inside show what waits for what. Pointers refer into the ProcessRecord.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyse/stream_history.h"

namespace cudadiag::analyse {

// A wait of a stream for another party's action.
struct StreamWait {
  enum class For { stream, value, semaphore };
  const session::Operation* operation = nullptr;
  For what = For::stream;
  const session::Operation* recorded = nullptr;  // For::stream: where the event was recorded, on a stream not that far
  const session::Operation* write = nullptr;     // For::value: queued, unfinished, to that address; null: there is none
};

struct UnfinishedStream {
  std::uint32_t index = 0;  // in ProcessRecord::streams
  const session::Stream* stream = nullptr;
  std::uint32_t completed = 0;  // everything up to this ordinal has finished
  // An operation up to this ordinal has not finished: a marker after it is not written, or a thread is kept waiting for
  // it. 0: operations after `completed` may have finished or not, because no marker follows them.
  std::uint32_t bound = 0;
  // The evidence that was queued by the call of an operation up to this one, as Window::marked_by.
  std::uint32_t shown_by = 0;
  std::vector<const session::Operation*> operations;  // recorded ones after `completed`, oldest first
  // The operations up to `bound` (all if it is 0) at which the stream may be.
  std::vector<const session::Operation*> candidates;
  std::uint32_t missing = 0;           // records among them that are lost
  std::vector<std::uint32_t> refused;  // ordinals after `completed`, of calls that queued nothing
  std::vector<StreamWait> waits;       // candidates that wait for somebody else
  // Streams, as `index`, whose work this one may wait for without an operation that says so, as the legacy default
  // stream does.
  std::vector<std::uint32_t> behind;
  bool waits_for_any = false;  // a candidate waits for an event, and it is not known where that was recorded

  bool proven() const { return bound != 0; }
  // Whether it may be blocked in a wait for another stream, or after one, whatever else it has.
  bool may_wait_for_stream() const { return waits_for_any || !behind.empty() || !streams_waited_for().empty(); }
  std::vector<std::uint32_t> streams_waited_for() const;  // by `waits`
};

// A thread inside a call that may wait for the GPU.
struct WaitingThread {
  const session::Thread* thread = nullptr;
  std::uint32_t site = 0;
  std::uint64_t since = 0;  // ticks
  // The stream that the call waits for, or in which the awaited event was recorded; nothing: not one, or not known.
  std::optional<std::uint32_t> stream;
  const session::Operation* recorded = nullptr;   // of an awaited event: the recording; of several the newest
  const session::Operation* operation = nullptr;  // that the call issues, where it does
};

struct UnfinishedWork {
  std::vector<UnfinishedStream> streams;  // those with anything that may be unfinished, by its age
  std::vector<WaitingThread> threads;     // longest first
};

UnfinishedWork unfinished_work(const session::ProcessRecord& record);

// The streams at which a hang has its cause, by the age of their work: those that have proven unfinished work and wait
// for no other stream. Also those that may wait, though for none of these, and all that they may wait for.
std::vector<const UnfinishedStream*> standing_streams(const UnfinishedWork& work);

}  // namespace cudadiag::analyse
