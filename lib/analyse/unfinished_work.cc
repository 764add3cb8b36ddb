#include "analyse/unfinished_work.h"

#include <algorithm>
#include <map>

namespace cudadiag::analyse {
namespace {

using session::Operation;
using session::ProcessRecord;
using wire::operation::MemoryOperation;
using wire::thread::Wait;

// A call that has only just begun may be about to return, so it proves nothing. A call that takes longer than this must
// be waiting in the driver.
constexpr double kSettled = 0.1;  // seconds
// The maximum number of entries examined for a context's legacy default stream. The stream gets a new entry each time
// it is recreated while it is busy.
constexpr std::size_t kMostLegacy = 16;

bool waits_for_value(const Operation& operation) {
  const MemoryOperation what = operation.memory_operation;
  return what >= MemoryOperation::wait_at_least && what <= MemoryOperation::wait_nor;
}

// Returns whether a stream can get stuck in the operation. Writes and signals cannot block, because the stream executes
// them itself.
bool can_stand(const Operation& operation) {
  if (!wire::operation::can_stand(operation.kind)) return false;
  if (operation.kind != wire::operation::Kind::memory_operation) return true;
  return waits_for_value(operation) || operation.memory_operation == MemoryOperation::wait_semaphore ||
         operation.memory_operation == MemoryOperation::unknown;
}

class UnfinishedSearch {
 public:
  explicit UnfinishedSearch(const ProcessRecord& record)
      : record_(record), events_(record), histories_(stream_histories(record, events_)) {}

  UnfinishedWork work() {
    find_threads();
    find_bounds();
    for (const StreamHistory& history : histories_) add_stream(history);
    for (UnfinishedStream& stream : work_.streams) settle(stream);
    order_by_legacy();
    for (UnfinishedStream& stream : work_.streams) {
      // We cannot tell in which operation the stream is stuck, so the stream may wait for anything.
      if (stream.candidates.empty() && stream.missing == 0 && stream.behind.empty()) stream.waits_for_any = true;
    }
    const auto age = [](const UnfinishedStream& stream) {
      return stream.operations.empty() ? 0 : stream.operations.front()->ticks;
    };
    std::ranges::stable_sort(work_.streams, [&](const auto& a, const auto& b) { return age(a) < age(b); });
    return std::move(work_);
  }

 private:
  struct Bound {
    std::uint32_t ordinal = 0;  // 0 if there is none
    std::uint32_t shown_by = 0;
  };

  bool lives(const session::Stream& stream) const {
    return stream.context >= record_.contexts.size() ||
           record_.contexts[stream.context].state != wire::context::State::destroyed;
  }
  bool finished(const Operation& operation) const {
    return operation.ordinal <= histories_[operation.stream].completed;
  }
  bool unfinished(const StreamHistory& history) const {
    return history.stream->state != wire::stream::State::free && lives(*history.stream) &&
           history.stream->issued > history.completed;
  }

  void find_threads() {
    for (const session::Thread& thread : record_.threads) {
      if (thread.state != wire::thread::State::live || thread.call_domain == wire::error::Domain::none) continue;
      WaitingThread waiting;
      waiting.thread = &thread;
      waiting.site = thread.blocked.site;
      waiting.since = thread.call_ticks;
      const auto index = static_cast<std::uint16_t>(&thread - record_.threads.data());
      // If the call of the thread's newest record has not returned, the thread is inside that call.
      for (const Operation& operation : record_.operations) {
        const bool open = operation.thread == index && operation.serial == thread.published &&
                          !(operation.flags & wire::operation::kReturned) && operation.ticks >= thread.call_ticks;
        if (open && operation.kind != wire::operation::Kind::event_sync) waiting.operation = &operation;
      }
      if (waiting.site == 0 && waiting.operation == nullptr) continue;
      if (waiting.site == 0) waiting.site = waiting.operation->site;
      if (thread.blocked.stream < record_.streams.size()) waiting.stream = thread.blocked.stream;
      if (thread.blocked.site == 0 && waiting.operation->stream < record_.streams.size()) {
        waiting.stream = waiting.operation->stream;
      }
      if (thread.blocked.site != 0 && thread.blocked.wait == Wait::event) {
        waiting.recorded = awaited(thread);
        if (waiting.recorded != nullptr) waiting.stream = waiting.recorded->stream;
      }
      work_.threads.push_back(waiting);
    }
    std::ranges::stable_sort(work_.threads, {}, &WaitingThread::since);
  }

  // Returns the recording of the event that the thread waits for. If several recordings are possible and all are on one
  // stream, returns the newest. Ignores finished recordings, because a wait for a finished one returns at once.
  const Operation* awaited(const session::Thread& thread) const {
    const double ticks = record_.seconds_per_tick > 0 ? kSettled / record_.seconds_per_tick : 0;
    const EventLog::Possible possible = events_.possible(thread, thread.call_ticks + static_cast<std::uint64_t>(ticks));
    if (!possible.complete) return nullptr;
    const Operation* newest = nullptr;
    for (const Operation* recorded : possible.recordings) {
      if (recorded->ordinal == 0 || recorded->stream >= histories_.size()) return nullptr;
      if (finished(*recorded)) continue;
      if (newest != nullptr && newest->stream != recorded->stream) return nullptr;
      if (newest == nullptr || newest->ordinal < recorded->ordinal) newest = recorded;
    }
    return newest;
  }

  void prove(std::uint32_t stream, std::uint32_t ordinal, std::uint32_t shown_by) {
    if (ordinal <= histories_[stream].completed) return;
    Bound& bound = bounds_[stream];
    if (bound.ordinal == 0 || ordinal < bound.ordinal) bound = {ordinal, shown_by};
  }
  void prove(std::uint32_t stream, std::uint32_t ordinal) { prove(stream, ordinal, ordinal); }

  // Returns the ordinal of the stream's last operation issued before `ticks`; 0 if there is none or it is unknown.
  std::uint32_t issued_before(std::uint32_t stream, std::uint64_t ticks) const {
    std::uint32_t newest = 0;
    for (const Operation* operation : histories_[stream].operations) {
      if (operation->ticks < ticks && was_queued(*operation)) newest = std::max(newest, operation->ordinal);
    }
    return newest;
  }

  // While a call waits, some of the work that it waits for is unfinished. We do not record which streams a wait for the
  // default stream or for a context covers. These waits are evidence only if the context has just one unfinished
  // stream.
  void prove_by(const WaitingThread& waiting) {
    const session::Thread::Blocked& call = waiting.thread->blocked;
    if (call.site == 0 || record_.seconds(record_.clock_last) - record_.seconds(waiting.since) < kSettled) return;
    if (call.wait == Wait::event) {
      const Operation* recorded = waiting.recorded;
      if (recorded != nullptr && !(recorded->flags & wire::operation::kContended)) {
        prove(recorded->stream, recorded->ordinal);
      }
      return;
    }
    if (call.wait == Wait::stream && waiting.stream) {
      if (waiting.operation != nullptr) return prove(*waiting.stream, waiting.operation->ordinal);
      const bool legacy = (record_.streams[*waiting.stream].flags & wire::stream::kLegacy) != 0;
      if (!legacy) return prove(*waiting.stream, issued_before(*waiting.stream, waiting.since));
    }
    if (call.wait != Wait::stream && call.wait != Wait::context) return;
    std::optional<std::uint32_t> only;
    for (const StreamHistory& history : histories_) {
      if (history.stream->context != call.context || !unfinished(history)) continue;
      if (only) return;
      only = history.index;
    }
    if (only) prove(*only, issued_before(*only, waiting.since));
  }

  void find_bounds() {
    bounds_.resize(histories_.size());
    for (const StreamHistory& history : histories_) {
      if (!unfinished(history)) continue;
      const CandidateWindow window = candidate_window(history);
      if (window.bounded) prove(history.index, window.bound, window.marked_by);
    }
    for (const WaitingThread& waiting : work_.threads) prove_by(waiting);
  }

  void add_stream(const StreamHistory& history) {
    if (!unfinished(history)) return;
    UnfinishedStream stream;
    stream.index = history.index;
    stream.stream = history.stream;
    stream.completed = history.completed;
    stream.bound = bounds_[history.index].ordinal;
    stream.shown_by = bounds_[history.index].shown_by;
    const std::uint32_t last = stream.bound == 0 ? history.stream->issued : stream.bound;
    std::uint32_t present = 0;
    for (const Operation* operation : history.operations) {
      if (operation->ordinal <= history.completed) continue;
      if (!was_queued(*operation)) {
        present += operation->ordinal <= last ? 1 : 0;
        stream.refused.push_back(operation->ordinal);
        continue;
      }
      stream.operations.push_back(operation);
      if (operation->ordinal > last) continue;
      ++present;
      if (can_stand(*operation)) stream.candidates.push_back(operation);
    }
    const std::uint32_t expected = history.stream->given_between(history.completed, last);
    stream.missing = expected > present ? expected - present : 0;
    // All later calls failed and queued nothing, so the stream has no unfinished work.
    if (stream.operations.empty() && stream.missing == 0) return;
    work_.streams.push_back(std::move(stream));
  }

  // Returns whether the event that the operation waits for has completed, so that the wait blocks nothing.
  bool passes(const Operation& wait) const {
    const EventLog::Possible possible = events_.possible(wait);
    const auto& all = possible.recordings;
    return possible.complete && std::ranges::all_of(all, [&](const Operation* recorded) {
             if (recorded->ordinal == 0 || recorded->stream >= histories_.size()) return false;
             return recorded->stream == wait.stream || finished(*recorded);
           });
  }

  const Operation* queued_write(const Operation& wait) const {
    for (const StreamHistory& history : histories_) {
      for (const Operation* other : history.operations) {
        const bool writes = other->memory_operation == MemoryOperation::write && other->argument == wait.argument;
        if (writes && other->ordinal > history.completed && other->stream != wait.stream) return other;
      }
    }
    return nullptr;
  }

  // Drops event waits that are over, and notes what the other candidates wait for.
  void settle(UnfinishedStream& stream) {
    std::erase_if(stream.candidates, [&](const Operation* operation) {
      return operation->kind == wire::operation::Kind::event_wait && passes(*operation);
    });
    for (const Operation* operation : stream.candidates) {
      if (operation->kind == wire::operation::Kind::event_wait) {
        const Operation* recorded = events_.latest(operation->argument, operation->ticks);
        if (recorded != nullptr) stream.waits.push_back({operation, StreamWait::For::stream, recorded, nullptr});
        const EventLog::Possible possible = events_.possible(*operation);
        const bool certain = recorded != nullptr && possible.complete && possible.recordings.size() == 1;
        stream.waits_for_any = stream.waits_for_any || !certain;
      } else if (waits_for_value(*operation)) {
        stream.waits.push_back({operation, StreamWait::For::value, nullptr, queued_write(*operation)});
      } else if (operation->memory_operation == MemoryOperation::wait_semaphore) {
        stream.waits.push_back({operation, StreamWait::For::semaphore, nullptr, nullptr});
      }
    }
  }

  // Notes the implicit waits: the legacy default stream of a context and the context's blocking streams wait for each
  // other.
  void order_by_legacy() {
    std::map<std::uint32_t, std::vector<UnfinishedStream*>> legacy;  // by context; a damaged record may have many
    for (UnfinishedStream& stream : work_.streams) {
      if ((stream.stream->flags & wire::stream::kLegacy) != 0) legacy[stream.stream->context].push_back(&stream);
    }
    for (UnfinishedStream& stream : work_.streams) {
      const auto found = legacy.find(stream.stream->context);
      const bool apart = (stream.stream->flags & (wire::stream::kLegacy | wire::stream::kNonBlocking)) != 0;
      if (apart || found == legacy.end()) continue;
      if (found->second.size() > kMostLegacy) {
        stream.waits_for_any = true;
        continue;
      }
      for (UnfinishedStream* other : found->second) {
        if (may_be_behind(stream, *other)) stream.behind.push_back(other->index);
        if (may_be_behind(*other, stream)) other->behind.push_back(stream.index);
      }
    }
  }

  // Returns whether work of `other` may have been queued before the operation or marker that shows that `stream` is
  // stuck. The order of calls on different threads is unknown.
  bool may_be_behind(const UnfinishedStream& stream, const UnfinishedStream& other) const {
    if (stream.missing > 0 || other.missing > 0 || stream.shown_by == kAnyCall) return true;
    const Operation& oldest = *other.operations.front();
    const bool one_thread = std::ranges::all_of(
        other.operations, [&](const Operation* operation) { return operation->thread == oldest.thread; });
    const std::vector<const Operation*>& operations = histories_[stream.index].operations;
    return std::ranges::any_of(operations, [&](const Operation* operation) {
      const bool counts =
          operation->ordinal > stream.completed && (stream.bound == 0 || operation->ordinal <= stream.shown_by);
      return counts && (!one_thread || operation->thread != oldest.thread || oldest.ticks < operation->ticks);
    });
  }

  const ProcessRecord& record_;
  EventLog events_;
  std::vector<StreamHistory> histories_;
  std::vector<Bound> bounds_;  // by stream
  UnfinishedWork work_;
};

}  // namespace

std::vector<bool> reached_from(std::vector<std::size_t> open, const std::vector<std::vector<std::size_t>>& next) {
  std::vector<bool> reached(next.size());
  for (const std::size_t at : open) reached[at] = true;
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const std::size_t other : next[at]) {
      if (!reached[other]) open.push_back(other);
      reached[other] = true;
    }
  }
  return reached;
}

std::vector<std::uint32_t> UnfinishedStream::streams_waited_for() const {
  std::vector<std::uint32_t> streams = behind;
  for (const StreamWait& wait : waits) {
    const Operation* other = wait.what == StreamWait::For::stream ? wait.recorded : wait.write;
    if (other != nullptr) streams.push_back(other->stream);
  }
  return streams;
}

UnfinishedWork unfinished_work(const ProcessRecord& record) { return UnfinishedSearch(record).work(); }

std::vector<const UnfinishedStream*> standing_streams(const UnfinishedWork& work) {
  std::map<std::uint32_t, std::size_t> places;
  for (std::size_t i = 0; i < work.streams.size(); ++i) places[work.streams[i].index] = i;
  // The streams that each stream may wait for. A stream that waits for an unknown stream may wait for any of them.
  std::vector<std::vector<std::size_t>> others(work.streams.size()), back(work.streams.size());
  std::vector<std::size_t> sources, anybody;
  for (std::size_t i = 0; i < work.streams.size(); ++i) {
    const UnfinishedStream& stream = work.streams[i];
    for (const std::uint32_t other : stream.streams_waited_for()) {
      const auto place = places.find(other);
      if (place == places.end()) continue;
      others[i].push_back(place->second);
      back[place->second].push_back(i);
    }
    if (stream.waits_for_any) anybody.push_back(i);
    if (stream.proven() && !stream.may_wait_for_stream()) sources.push_back(i);
  }
  // A stream that may wait for one of `sources` may be stuck for that reason alone.
  std::vector<std::size_t> held_up = sources;
  if (!sources.empty()) held_up.insert(held_up.end(), anybody.begin(), anybody.end());
  const std::vector<bool> explained = reached_from(held_up, back);
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < work.streams.size(); ++i) {
    if (work.streams[i].proven() && !explained[i]) rest.push_back(i);
  }
  std::vector<bool> standing = reached_from(rest, others);
  for (const std::size_t i : sources) standing[i] = true;
  if (std::ranges::any_of(anybody, [&](std::size_t i) { return standing[i]; })) {
    standing.assign(standing.size(), true);
  }
  std::vector<const UnfinishedStream*> found;
  for (std::size_t i = 0; i < work.streams.size(); ++i) {
    if (standing[i]) found.push_back(&work.streams[i]);
  }
  return found;
}

}  // namespace cudadiag::analyse
