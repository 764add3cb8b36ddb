#include "analyse/stream_history.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

namespace cudadiag::analyse {
namespace {

using session::Operation;
using session::ProcessRecord;

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

bool earlier(const Operation* a, const Operation* b) { return a->ticks < b->ticks; }

// The records are usually sorted already, and checking is much cheaper than sorting.
template <typename Item, typename Earlier>
void sort(std::vector<Item>& items, Earlier is_earlier) {
  if (!std::ranges::is_sorted(items, is_earlier)) std::ranges::sort(items, is_earlier);
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
  std::ranges::sort(of_any_event_);
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
  const auto next = std::ranges::upper_bound(of_any_event_, record.ticks);
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
  if (const auto next = std::ranges::upper_bound(ticks, operation.ticks); next != ticks.end()) return *next;
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
  const auto last = std::ranges::max_element(before, earlier);
  for (const Operation* record : before) {
    if (record == *last || returned_by(*record) > (*last)->ticks) possible.recordings.push_back(record);
  }
  const std::uint64_t since = before.empty() ? 0 : (*last)->ticks;
  const auto by_graph = std::ranges::lower_bound(of_any_event_, since);
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

std::string stream_phrase(const session::Stream& stream) {
  if (stream.flags & wire::stream::kLegacy) return "the default stream";
  if (stream.flags & wire::stream::kPerThread) {
    return fmt::format("the default stream of thread {}", stream.thread_tid);
  }
  return fmt::format("stream {:#x}", stream.handle);
}

namespace {

// Returns the earliest tick after which the thread's records have consecutive serials, so none is missing. If the
// thread took over the ring of an earlier thread, serials restart at 1. A lower serial with a later tick therefore
// belongs to another thread, and the search ends there.
std::uint64_t thread_complete_since(std::vector<const Operation*>& records, std::uint64_t published) {
  constexpr auto kNothing = std::numeric_limits<std::uint64_t>::max();
  if (records.empty()) return published == 0 ? 0 : kNothing;
  // The records are usually in ascending order of serial, so reversing them puts the newest first.
  const auto newer = [](const auto* a, const auto* b) { return a->serial > b->serial; };
  std::ranges::reverse(records);
  if (!std::ranges::is_sorted(records, newer)) std::ranges::sort(records, newer);
  if (records.front()->serial < published) return kNothing;
  const Operation* oldest = records.front();
  for (const Operation* next : records) {
    if (next->serial == oldest->serial) continue;
    if (next->serial + 1 != oldest->serial || next->ticks > oldest->ticks) return oldest->ticks;
    oldest = next;
  }
  return oldest->serial == 1 ? 0 : oldest->ticks;
}

}  // namespace

std::vector<std::uint64_t> threads_complete_since(const ProcessRecord& record) {
  std::vector<std::vector<const Operation*>> by_thread(record.threads.size());
  for (const auto& operation : record.operations) {
    if (operation.thread < by_thread.size()) by_thread[operation.thread].push_back(&operation);
  }
  std::vector<std::uint64_t> since;
  for (std::size_t i = 0; i < by_thread.size(); ++i) {
    since.push_back(thread_complete_since(by_thread[i], record.threads[i].published));
  }
  return since;
}

std::uint64_t complete_since(const ProcessRecord& record) {
  const std::vector<std::uint64_t> threads = threads_complete_since(record);
  return threads.empty() ? 0 : *std::ranges::max_element(threads);
}

IssueOrder::IssueOrder(const ProcessRecord& record) : complete_since_(complete_since(record)) {
  for (const auto& operation : record.operations) {
    if (wire::operation::has_ordinal(operation.kind)) ticks_.push_back(operation.ticks);
  }
  std::ranges::sort(ticks_);
  if (record.dropped_operations > 0) return;
  if (complete_since_ == 0) {
    countable_ = true;
    return;
  }
  std::uint64_t issued = 0;
  for (const auto& thread : record.threads) issued += thread.operations;
  countable_ = issued >= ticks_.size();
  lost_ = countable_ ? issued - ticks_.size() : 0;
}

std::optional<std::uint64_t> IssueOrder::ordinal(const Operation& operation) const {
  if (operation.issued != 0) return operation.issued;
  if (!countable_ || operation.ticks < complete_since_) return std::nullopt;
  const auto after = std::ranges::upper_bound(ticks_, operation.ticks);
  return lost_ + static_cast<std::uint64_t>(after - ticks_.begin());
}

namespace {

using Operations = std::vector<const Operation*>;

std::size_t first_after(const Operations& operations, std::uint32_t ordinal) {
  const auto found =
      std::upper_bound(operations.begin(), operations.end(), ordinal,
                       [](std::uint32_t wanted, const Operation* operation) { return wanted < operation->ordinal; });
  return static_cast<std::size_t>(found - operations.begin());
}

// Where the window ends: the first marker that was queued but not written.
struct Bound {
  std::uint32_t ordinal = 0;  // the last operation that the marker covers; 0 if none is known to have been queued
  bool certain = false;       // the marker is directly after this operation; otherwise operations may lie in between
  std::uint32_t by = kAnyCall;
};

Bound first_unwritten_marker(const StreamHistory& history, std::size_t begin) {
  const std::uint32_t newest = history.stream->marker_issued > history.completed ? history.stream->marker_issued : 0;
  for (std::size_t i = begin; i < history.operations.size(); ++i) {
    const Operation& operation = *history.operations[i];
    if (newest != 0 && operation.ordinal > newest + 1) break;
    // A marker directly before the first unfinished operation covers only finished operations, so it cannot end the
    // window.
    const bool covers_unfinished = operation.ordinal > history.completed + 1;
    if (operation.flags & wire::operation::kMarkedBefore && covers_unfinished)
      return {operation.ordinal - 1, true, operation.ordinal};
    if (newest != 0 && operation.ordinal > newest) break;
    if (operation.flags & wire::operation::kMarked) return {operation.ordinal, true, operation.ordinal};
  }
  return {newest, false, kAnyCall};
}

bool contended_neighbours(const Operation& a, const Operation& b) {
  return (a.flags & b.flags & wire::operation::kContended) && b.ordinal - a.ordinal <= 1;
}

// Returns whether `next` may have been queued before the marker that follows `last`.
bool came_meanwhile(const Operation& last, const Operation& next) {
  return (next.flags & wire::operation::kContended) && next.ordinal - last.ordinal <= 1;
}

// Widens the window if several threads issued on the stream at the same time. Their operations may have been queued in
// a different order than their ordinals suggest.
void widen_by_contention(const Operations& operations, CandidateWindow& window, bool certain) {
  if (window.begin == window.end) return;
  while (window.begin > 0 && contended_neighbours(*operations[window.begin - 1], *operations[window.begin])) {
    --window.begin;
  }
  const auto beside = certain ? contended_neighbours : came_meanwhile;
  while (window.end < operations.size() && beside(*operations[window.end - 1], *operations[window.end])) ++window.end;
}

}  // namespace

CandidateWindow candidate_window(const StreamHistory& history) {
  CandidateWindow window;
  window.begin = first_after(history.operations, history.completed);
  const auto [marker, certain, marked_by] = first_unwritten_marker(history, window.begin);
  window.bounded = marker != 0;
  window.end = window.bounded ? first_after(history.operations, marker) : history.operations.size();

  const std::uint32_t last = window.bounded ? marker : history.stream->issued;
  const std::uint32_t expected = history.stream->given_between(history.completed, last);
  const auto present = static_cast<std::uint32_t>(window.end - window.begin);
  window.missing = expected > present ? expected - present : 0;
  const auto given_before = [&](const Operation& operation) {
    return operation.ordinal > 0 ? history.stream->given_between(history.completed, operation.ordinal - 1) : 0;
  };
  window.lost_first = expected > 0 && (present == 0 || given_before(*history.operations[window.begin]) > 0);

  widen_by_contention(history.operations, window, certain);
  window.bound =
      window.bounded && window.end > 0 ? std::max(marker, history.operations[window.end - 1]->ordinal) : marker;
  window.marked_by = std::max(window.bound, marked_by);
  return window;
}

namespace {

// Returns the event waits at which streams may still be blocked, oldest first. A wait depends only on earlier
// operations, so one pass in this order follows every chain of waits.
std::vector<const Operation*> open_waits(const std::vector<StreamHistory>& histories) {
  std::vector<const Operation*> waits;
  for (const auto& history : histories) {
    for (const Operation* operation : history.operations) {
      const bool open = operation->kind == wire::operation::Kind::event_wait && operation->ordinal > history.completed;
      const bool certain = was_queued(*operation) && !(operation->flags & wire::operation::kContended);
      if (open && certain) waits.push_back(operation);
    }
  }
  std::ranges::sort(waits, [](const Operation* a, const Operation* b) { return a->ticks < b->ticks; });
  return waits;
}

std::vector<std::uint32_t> first_that_can_fault(const std::vector<StreamHistory>& histories,
                                                const std::vector<CandidateWindow>& windows) {
  std::vector<std::uint32_t> first(histories.size(), StreamStart::kNever);
  for (std::size_t i = 0; i < histories.size(); ++i) {
    for (const Operation* operation : windows[i].of(histories[i])) {
      if (wire::operation::can_fault(operation->kind)) first[i] = std::min(first[i], operation->ordinal);
    }
  }
  return first;
}

}  // namespace

std::vector<StreamStart> stream_starts(const std::vector<StreamHistory>& histories,
                                       const std::vector<CandidateWindow>& windows, const EventLog& events) {
  std::vector<StreamStart> starts(histories.size());
  const auto first_suspect = first_that_can_fault(histories, windows);
  for (const Operation* wait : open_waits(histories)) {
    const Operation* recorded = events.recorded(*wait);
    if (recorded == nullptr || recorded->stream == wait->stream) continue;
    if (recorded->flags & wire::operation::kContended) continue;
    const std::size_t other = recorded->stream;

    StreamStart& start = starts[wait->stream];
    // An unwritten marker proves that the event is pending only if the marker was queued before the event was recorded.
    // A later marker may have been queued long afterwards.
    const bool behind_unwritten_marker = windows[other].bounded && windows[other].bound < recorded->ordinal;
    if (behind_unwritten_marker || recorded->ordinal > starts[other].blocked_after) {
      start.blocked_after = std::min(start.blocked_after, wait->ordinal);
    }
    if (first_suspect[other] < recorded->ordinal || recorded->ordinal > starts[other].unsure_after) {
      start.unsure_after = std::min(start.unsure_after, wait->ordinal);
    }
  }
  return starts;
}

}  // namespace cudadiag::analyse
