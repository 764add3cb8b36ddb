// The recorded operations of each stream in order: which have finished, which may be running, and which records are
// missing.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

// Finds the recording to which an event referred at a given time. Ignores a recording if a later recording may be
// missing.
class EventLog {
 public:
  explicit EventLog(const session::ProcessRecord& record);
  // Returns the latest recording of `event` issued before `ticks`; null if there is none, or if it is uncertain.
  const session::Operation* latest(std::uint64_t event, std::uint64_t ticks) const;
  // Returns the recording to which a wait or a host query in this process refers; null if there is none, or if it is
  // uncertain.
  const session::Operation* recorded(const session::Operation& wait) const;
  struct Possible {
    std::vector<const session::Operation*> recordings;
    bool complete = false;  // `recordings` lacks none; if it is empty, the event had not been recorded yet
    bool before = false;    // one of these recordings was certainly before the wait
  };
  // Returns all recordings to which the wait may refer. There may be several, because calls of other threads may
  // overlap with the wait.
  Possible possible(const session::Operation& wait) const;
  // Returns all recordings to which the wait of a blocked thread may refer. The thread's call had reached the driver by
  // `given`.
  Possible possible(const session::Thread& waiting, std::uint64_t given) const;

 private:
  // `ticks`: the time at which the waiting call began.
  Possible possible(std::uint64_t event, std::size_t thread, std::uint64_t ticks, std::uint64_t given) const;
  std::uint64_t returned_by(const session::Operation& operation) const;
  bool may_be_superseded(const session::Operation& record, std::uint64_t until) const;

  const session::ProcessRecord& process_;
  // By event, then by thread; sorted by ticks.
  std::unordered_map<std::uint64_t, std::map<std::uint16_t, std::vector<const session::Operation*>>> records_;
  std::vector<std::vector<std::uint64_t>> calls_;  // ticks of each thread's operations
  std::vector<std::uint64_t> of_any_event_;        // ticks of graph launches that may have recorded any event
  std::uint64_t certain_since_ = 0;
};

struct StreamHistory {
  std::uint32_t index = 0;  // in ProcessRecord::streams
  const session::Stream* stream = nullptr;
  std::vector<const session::Operation*> operations;  // operations with an ordinal, sorted by it
  std::uint32_t completed = 0;  // everything up to this ordinal has finished, according to markers and host waits
};

// Returns one history per stream, in the order of the process's streams.
std::vector<StreamHistory> stream_histories(const session::ProcessRecord& record, const EventLog& events);

// Returns whether the operation was queued on the stream. An operation was not queued if it was captured into a graph,
// or if its call failed.
bool was_queued(const session::Operation& operation);

std::string stream_phrase(const session::Stream& stream);  // "the default stream", "stream 0x55d0c8"

// A ring keeps the latest records of a thread. Older records are kept only for unfinished operations, so a missing
// older record proves nothing.
//
// Returns the earliest tick after which no record of any thread is missing. Returns 0 if no record is missing, and the
// largest value if the newest records are missing.
std::uint64_t complete_since(const session::ProcessRecord& record);
// Returns complete_since() of each thread, at the thread's index.
std::vector<std::uint64_t> threads_complete_since(const session::ProcessRecord& record);

// Numbers a process's stream operations in the order in which the process issued them, including captured ones.
class IssueOrder {
 public:
  explicit IssueOrder(const session::ProcessRecord& record);
  // Returns how many operations were issued up to and including `operation`; nullopt if lost records make that unknown.
  std::optional<std::uint64_t> ordinal(const session::Operation& operation) const;

 private:
  std::vector<std::uint64_t> ticks_;  // of the recorded operations, ascending
  std::uint64_t complete_since_;
  std::uint64_t lost_ = 0;  // how many operations have no record, according to the counters of the threads
  bool countable_ = false;
};

inline constexpr std::uint32_t kAnyCall = 0xffffffff;  // value of `marked_by` if the call is unknown

// Which operations of a stream may have been running when the state was captured.
//
// The GPU processes a stream in order, and a marker says "everything up to here has finished". Any operation between
// the last written marker and the first unwritten one may have stopped the stream:
//
//    ordinal   1   2   3   4   5   6   7   8
//    marker        w               q           w: written, q: queued and not written
//    window            [-----------]
struct CandidateWindow {
  std::size_t begin = 0, end = 0;  // half-open range in StreamHistory::operations
  bool bounded = false;            // the window ends at a marker that was queued but not written
  std::uint32_t bound = 0;         // if bounded: at least one operation up to this ordinal was unfinished
  // Upper limit for the ordinal of the operation whose call queued the marker. May be `bound` + 1.
  std::uint32_t marked_by = 0;
  std::uint32_t missing = 0;  // how many records of the window are lost
  bool lost_first = false;    // the record of the first unfinished operation, the likeliest to have failed, is lost

  std::span<const session::Operation* const> of(const StreamHistory& history) const {
    return std::span(history.operations).subspan(begin, end - begin);
  }
};

CandidateWindow candidate_window(const StreamHistory& history);

struct StreamStart {
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t blocked_after = kNever;  // nothing after this ordinal can have started
  std::uint32_t unsure_after = kNever;   // work after this ordinal waits for something that may be unfinished
};

// Finds the operations that cannot have started, because their stream waits for an event of another stream. A stream
// that waits for an event runs no later work until the recording stream reaches that event.
//
// Ignores the default stream's implicit waits for other streams, because they depend on flags that are not recorded.
//
// Returns one entry per stream; `windows` has one entry per history.
std::vector<StreamStart> stream_starts(const std::vector<StreamHistory>& histories,
                                       const std::vector<CandidateWindow>& windows, const EventLog& events);

}  // namespace cudadiag::analyse
