// Finds GPU work that is, or may be, unfinished in a process. The process may be running or hanging, or may have ended.
// Events, memory operations and the calls in which threads wait show what waits for what. Pointers refer to the
// ProcessRecord.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyse/stream_history.h"

namespace cudadiag::analyse {

// An operation that waits for something outside its own stream.
struct StreamWait {
  enum class For { stream, value, semaphore };
  const session::Operation* operation = nullptr;
  For what = For::stream;
  const session::Operation* recorded = nullptr;  // For::stream: the pending recording of the awaited event
  const session::Operation* write = nullptr;     // For::value: a queued, unfinished write to that address; null if none
};

struct UnfinishedStream {
  std::uint32_t index = 0;  // in ProcessRecord::streams
  const session::Stream* stream = nullptr;
  std::uint32_t completed = 0;  // everything up to this ordinal has finished
  // At least one operation up to this ordinal is unfinished, because a marker that covers it is not written, or a
  // thread waits for it. If 0, nothing shows whether the operations after `completed` have finished.
  std::uint32_t bound = 0;
  // Like CandidateWindow::marked_by, for the marker or wait that proves `bound`.
  std::uint32_t shown_by = 0;
  std::vector<const session::Operation*> operations;  // recorded operations after `completed`, oldest first
  // The operations at which the stream may be stuck: those up to `bound`, or all if `bound` is 0.
  std::vector<const session::Operation*> candidates;
  std::uint32_t missing = 0;           // how many records after `completed`, up to `bound`, are lost
  std::vector<std::uint32_t> refused;  // ordinals after `completed` whose calls failed and queued nothing
  std::vector<StreamWait> waits;       // candidates that wait for something outside the stream
  // The indices of the streams for which this stream may wait implicitly, as the legacy default stream does.
  std::vector<std::uint32_t> behind;
  bool waits_for_any = false;  // a candidate waits for an event whose recording is unknown

  bool proven() const { return bound != 0; }
  // Returns whether another stream may block this stream.
  bool may_wait_for_stream() const { return waits_for_any || !streams_waited_for().empty(); }
  std::vector<std::uint32_t> streams_waited_for() const;  // `behind`, and those in `waits`
};

// A thread inside a call that may wait for the GPU.
struct WaitingThread {
  const session::Thread* thread = nullptr;
  std::uint32_t site = 0;
  std::uint64_t since = 0;  // ticks
  // The stream that the call waits for, or that recorded the awaited event; nullopt if there is none or it is unknown.
  std::optional<std::uint32_t> stream;
  const session::Operation* recorded = nullptr;   // for an awaited event, its newest recording
  const session::Operation* operation = nullptr;  // the operation that the call issues, if any
};

struct UnfinishedWork {
  std::vector<UnfinishedStream> streams;  // only those that may have unfinished work, oldest first
  std::vector<WaitingThread> threads;     // longest wait first
};

UnfinishedWork unfinished_work(const session::ProcessRecord& record);

// Returns which nodes of a graph are in `open` or can be reached from there. `next`: the successors of each node.
std::vector<bool> reached_from(std::vector<std::size_t> open, const std::vector<std::vector<std::size_t>>& next);

// Returns the streams that cause a hang, oldest work first: those that have proven unfinished work and wait for no
// other stream. If a stream with proven unfinished work waits for none of these, also returns that stream and all
// streams that it may wait for.
std::vector<const UnfinishedStream*> standing_streams(const UnfinishedWork& work);

}  // namespace cudadiag::analyse
