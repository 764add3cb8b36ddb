// The operations of each stream of a process, in order, and how many of them are known to have finished.
#pragma once

#include <cstdint>
#include <map>
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

std::string stream_name(const session::Stream& stream);  // "the default stream", "stream 0x55d0c8"

}  // namespace cudadiag::analyse
