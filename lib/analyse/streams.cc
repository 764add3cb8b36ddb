#include "analyse/streams.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "analyse/record_horizon.h"

namespace cudadiag::analyse {
namespace {

using session::Operation;
using session::ProcessRecord;

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

bool earlier(const Operation* a, const Operation* b) { return a->ticks < b->ticks; }

// The records are usually sorted already, and checking is much cheaper than sorting.
template <typename Item, typename Earlier>
void sort(std::vector<Item>& items, Earlier is_earlier) {
  if (!std::is_sorted(items.begin(), items.end(), is_earlier)) std::sort(items.begin(), items.end(), is_earlier);
}

auto first_since(const std::vector<const Operation*>& records, std::uint64_t ticks) {
  return std::lower_bound(records.begin(), records.end(), ticks,
                          [](const Operation* record, std::uint64_t at) { return record->ticks < at; });
}

bool in_stream_order(const Operation* a, const Operation* b) {
  return a->ordinal != b->ordinal ? a->ordinal < b->ordinal : a->ticks < b->ticks;
}

// If the host waited for an event, the stream that recorded the event has finished everything before the recording.
void apply_event_waits(const ProcessRecord& record, const EventLog& events, std::vector<StreamHistory>& histories) {
  for (const auto& wait : record.operations) {
    const bool returned = (wait.flags & wire::operation::kReturned) && wait.result == 0;
    if (wait.kind != wire::operation::Kind::event_sync || !returned) continue;
    const Operation* recorded = events.recorded(wait);
    if (recorded == nullptr || recorded->flags & wire::operation::kContended) continue;
    auto& completed = histories[recorded->stream].completed;
    completed = std::max(completed, recorded->ordinal);
  }
}

}  // namespace

EventLog::EventLog(const ProcessRecord& record) : process_(record), calls_(record.threads.size()) {
  for (const auto& operation : record.operations) {
    if (operation.thread < calls_.size()) calls_[operation.thread].push_back(operation.ticks);
    const bool recorded = operation.kind == wire::operation::Kind::event_record && was_queued(operation);
    const bool forgotten = operation.kind == wire::operation::Kind::event_forgotten;
    if (recorded || forgotten) records_[operation.argument][operation.thread].push_back(&operation);
    const bool launched = operation.kind == wire::operation::Kind::graph && was_queued(operation);
    if (launched && may_record_events(record, operation.graph)) of_any_event_.push_back(operation.ticks);
  }
  std::sort(of_any_event_.begin(), of_any_event_.end());
  for (auto& ticks : calls_) sort(ticks, std::less<>());
  for (auto& [event, threads] : records_) {
    for (auto& [thread, records] : threads) sort(records, earlier);
  }
  certain_since_ = record.dropped_operations > 0 ? kNever : complete_since(record);
}

const Operation* EventLog::latest(std::uint64_t event, std::uint64_t ticks) const {
  const auto threads = records_.find(event);
  if (threads == records_.end()) return nullptr;
  const Operation* latest = nullptr;
  for (const auto& [thread, records] : threads->second) {
    const auto after = first_since(records, ticks);
    if (after == records.begin()) continue;
    if (latest == nullptr || earlier(latest, *std::prev(after))) latest = *std::prev(after);
  }
  if (latest == nullptr) return nullptr;
  const bool placed = latest->ordinal != 0 && latest->stream < process_.streams.size();
  return placed && latest->ticks >= certain_since_ && !may_be_superseded(*latest, ticks) ? latest : nullptr;
}

bool EventLog::may_be_superseded(const Operation& record, std::uint64_t until) const {
  const auto next = std::upper_bound(of_any_event_.begin(), of_any_event_.end(), record.ticks);
  return (next != of_any_event_.end() && *next < until) || !process_.sees_events_at(until);
}

const Operation* EventLog::recorded(const Operation& wait) const {
  if (process_.dropped_operations == 0 && wait.recorded != 0) return by_id(process_.operations, wait.recorded);
  const bool by_host = wait.kind == wire::operation::Kind::event_sync;
  const std::uint64_t began = by_host && wait.began != 0 ? wait.began : wait.ticks;
  const Possible found = possible(wait.argument, wait.thread, began, by_host ? wait.ticks : returned_by(wait));
  if (!found.complete || !found.before || found.recordings.size() != 1) return nullptr;
  const Operation* recording = found.recordings.front();
  return recording->ordinal != 0 && recording->stream < process_.streams.size() ? recording : nullptr;
}

// Returns a time by which the operation's call had returned. For an `event_forgotten` record, this is the record's own
// time, because CUDA reuses the handle of a destroyed event only later.
std::uint64_t EventLog::returned_by(const Operation& operation) const {
  if (operation.returned_at != 0) return operation.returned_at;
  if (operation.kind == wire::operation::Kind::event_forgotten) return operation.ticks;
  if (operation.thread >= calls_.size()) return kNever;
  const auto& ticks = calls_[operation.thread];
  if (const auto next = std::upper_bound(ticks.begin(), ticks.end(), operation.ticks); next != ticks.end())
    return *next;
  const session::Thread& thread = process_.threads[operation.thread];
  const bool inside = thread.call_domain != wire::error::Domain::none;
  return inside && thread.call_ticks > operation.ticks ? thread.call_ticks : kNever;
}

EventLog::Possible EventLog::possible(const Operation& wait) const {
  return possible(wait.argument, wait.thread, wait.ticks, returned_by(wait));
}

EventLog::Possible EventLog::possible(const session::Thread& waiting, std::uint64_t given) const {
  const auto index = static_cast<std::size_t>(&waiting - process_.threads.data());
  return possible(waiting.blocked.event, index, waiting.call_ticks, given);
}

EventLog::Possible EventLog::possible(std::uint64_t event, std::size_t waiting, std::uint64_t ticks,
                                      std::uint64_t given) const {
  Possible possible;
  // For each thread, the latest record that is certainly older than the wait. It supersedes the thread's earlier
  // records.
  std::vector<const Operation*> before;
  if (const auto threads = records_.find(event); threads != records_.end()) {
    for (const auto& [thread, records] : threads->second) {
      const bool own = thread == waiting;
      for (auto next = first_since(records, own ? ticks : given); next != records.begin(); --next) {
        const Operation* record = *std::prev(next);
        const bool certain = own || returned_by(*record) <= ticks;
        (certain ? before : possible.recordings).push_back(record);
        if (certain) break;
      }
    }
  }
  possible.before = !before.empty();
  const auto last = std::max_element(before.begin(), before.end(), earlier);
  for (const Operation* record : before) {
    if (record == *last || returned_by(*record) > (*last)->ticks) possible.recordings.push_back(record);
  }
  const std::uint64_t since = before.empty() ? 0 : (*last)->ticks;
  const auto by_graph = std::lower_bound(of_any_event_.begin(), of_any_event_.end(), since);
  possible.complete = since >= certain_since_ && process_.sees_events_at(given) &&
                      (by_graph == of_any_event_.end() || *by_graph >= given);
  return possible;
}

std::vector<StreamHistory> stream_histories(const ProcessRecord& record, const EventLog& events) {
  std::vector<StreamHistory> histories(record.streams.size());
  for (std::size_t i = 0; i < histories.size(); ++i) {
    histories[i].index = static_cast<std::uint32_t>(i);
    histories[i].stream = &record.streams[i];
    histories[i].completed = record.streams[i].completed();
  }
  for (const auto& operation : record.operations) {
    if (operation.ordinal != 0 && operation.stream < histories.size())
      histories[operation.stream].operations.push_back(&operation);
  }
  for (auto& history : histories) sort(history.operations, in_stream_order);
  apply_event_waits(record, events, histories);
  return histories;
}

bool was_queued(const Operation& operation) {
  if (operation.flags & wire::operation::kCaptured) return false;
  return !(operation.flags & wire::operation::kReturned) || operation.result == 0;
}

std::string stream_name(const session::Stream& stream) {
  if (stream.flags & wire::stream::kLegacy) return "the default stream";
  if (stream.flags & wire::stream::kPerThread) {
    return fmt::format("the default stream of thread {}", stream.thread_tid);
  }
  return fmt::format("stream {:#x}", stream.handle);
}

}  // namespace cudadiag::analyse
