// The operations of each stream of a process, in order, and how far the stream certainly got.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

// The record that an event referred to at a given time. Answers only from records that no lost record can have
// superseded.
class EventLog {
 public:
  explicit EventLog(const session::ProcessRecord& record);
  // The latest record of `event` issued before `ticks`; null if there is none, or if it is not certain.
  const session::Operation* latest(std::uint64_t event, std::uint64_t ticks) const;
  // The same for a wait for an event, or a query of one by the host, in this process.
  const session::Operation* recorded(const session::Operation& wait) const;
  struct Possible {
    std::vector<const session::Operation*> recordings;
    bool complete = false;  // none can be missing among them: where there is none, the event was not recorded before
    bool before = false;    // it had been recorded by then: it represents one of them
  };
  // The records that such a wait may refer to: another thread's call may have overlapped with one of these.
  Possible possible(const session::Operation& wait) const;
  // The same for a thread inside a call that waits for an event, and that has reached the driver by `given`.
  Possible possible(const session::Thread& waiting, std::uint64_t given) const;

 private:
  // A thread's wait whose call began at `ticks`.
  Possible possible(std::uint64_t event, std::size_t thread, std::uint64_t ticks, std::uint64_t given) const;
  std::uint64_t returned_by(const session::Operation& operation) const;
  bool may_be_superseded(const session::Operation& record, std::uint64_t until) const;

  const session::ProcessRecord& process_;
  // By event, and by thread; each by ticks.
  std::unordered_map<std::uint64_t, std::map<std::uint16_t, std::vector<const session::Operation*>>> records_;
  std::vector<std::vector<std::uint64_t>> calls_;  // ticks of each thread's operations
  std::vector<std::uint64_t> of_any_event_;        // ticks of graph launches that may have recorded it
  std::uint64_t certain_since_ = 0;
};

struct StreamHistory {
  std::uint32_t index = 0;  // in ProcessRecord::streams
  const session::Stream* stream = nullptr;
  std::vector<const session::Operation*> operations;  // those with an ordinal, in its order
  std::uint32_t completed = 0;  // everything up to this ordinal has finished: markers, and waits of the host
};

// One per stream of the process, in its order.
std::vector<StreamHistory> stream_histories(const session::ProcessRecord& record, const EventLog& events);

// Whether the stream took the operation: not if it went into a graph, or if its call failed.
bool was_queued(const session::Operation& operation);

std::string stream_name(const session::Stream& stream);  // "the default stream", "stream 0x55d0c8"

}  // namespace cudadiag::analyse
