#include "analyse/stall_rule.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "analyse/hang.h"
#include "analyse/rank_divergence.h"
#include "analyse/stream_history.h"

namespace cudadiag::analyse {
namespace {

using session::Operation;
using session::ProcessRecord;

constexpr double kNoDeadline = std::numeric_limits<double>::infinity();
// A call that has just begun may be about to return, so it proves nothing.
constexpr double kBegun = 0.1;  // seconds

// The part of a device that executes an operation. When it is busy, it executes one operation after another.
enum class Engine { none, gpu, host };

Engine engine_of(const Operation& operation) {
  if (wire::operation::can_fault(operation.kind)) return Engine::gpu;
  return operation.kind == wire::operation::Kind::host_function ? Engine::host : Engine::none;
}

double seconds_before(std::uint64_t ticks, const ProcessRecord& record) {
  return record.seconds(record.clock_last) - record.seconds(ticks);
}

}  // namespace

// For each stream, which other streams it may wait for. Streams are numbered by their index in `work`.
struct StallRule::Graph {
  const UnfinishedWork* work = nullptr;
  const std::vector<Head>* heads = nullptr;
  std::vector<double> deadlines;  // kNoDeadline if unknown
  std::vector<bool> overdue;
  std::vector<std::vector<std::size_t>> edges;  // the streams that each one may wait for
  std::vector<std::vector<bool>> reach;  // the stream itself, and those that it may wait for, directly or indirectly

  std::size_t size() const { return deadlines.size(); }
  const UnfinishedStream& stream(std::size_t place) const { return work->streams[place]; }
  const Head& head(std::size_t place) const { return (*heads)[stream(place).index]; }
  bool told(std::size_t place) const { return head(place).stall.has_value(); }
  // Returns whether the stream and all streams that it may wait for are overdue.
  bool stands(std::size_t place) const {
    if (!overdue[place]) return false;
    for (std::size_t other = 0; other < size(); ++other) {
      if (reach[place][other] && !overdue[other]) return false;
    }
    return true;
  }
  // Returns whether every stream that stream `place` may wait for may in turn wait for stream `place`.
  bool is_cause(std::size_t place) const {
    for (std::size_t other = 0; other < size(); ++other) {
      if (reach[place][other] && !reach[other][place]) return false;
    }
    return true;
  }
  // Returns the stream and all streams that it may wait for.
  std::vector<std::size_t> with_reached(std::size_t place) const {
    std::vector<std::size_t> places = {place};
    for (std::size_t other = 0; other < size(); ++other) {
      if (other != place && reach[place][other]) places.push_back(other);
    }
    return places;
  }
  bool moved_since(double time, std::uint32_t device, const ProcessRecord& record) const;
  bool may_not_have_begun(std::size_t place, const ProcessRecord& record) const;
};

bool StallRule::Graph::moved_since(double time, std::uint32_t device, const ProcessRecord& record) const {
  for (std::size_t i = 0; i < heads->size() && i < record.streams.size(); ++i) {
    if (session::device_of(record, record.streams[i].context) == device && (*heads)[i].moved > time) return true;
  }
  return false;
}

// Returns whether an older operation may have kept the stream's operation from starting. A fully occupied GPU starts no
// further operations, and only one host function runs at a time.
bool StallRule::Graph::may_not_have_begun(std::size_t place, const ProcessRecord& record) const {
  const Operation& operation = *stream(place).candidates.front();
  const auto device = session::device_of(record, stream(place).stream->context);
  const Engine engine = engine_of(operation);
  if (engine == Engine::none || !device) return false;
  const auto age = [&](std::size_t of) { return std::pair(head(of).since, stream(of).candidates.front()->ticks); };
  for (std::size_t other = 0; other < size(); ++other) {
    const UnfinishedStream& older = stream(other);
    if (other == place || older.candidates.empty() || session::device_of(record, older.stream->context) != device)
      continue;
    const bool waits = overdue[other] && !stands(other);
    if (!older.proven() || waits || engine_of(*older.candidates.front()) != engine || age(other) >= age(place))
      continue;
    if (!overdue[other] || !moved_since(head(other).since, *device, record)) return true;
  }
  return false;
}

void StallRule::leave(Head& head, double now) {
  const double took = now - head.since;
  for (const std::uint32_t site : head.sites) {
    double& longest = longest_[site];
    longest = std::max(longest, took);
  }
  if (head.stall) ended_.push_back({*head.stall, took});
  head.sites.clear();
  head.stall.reset();
  head.held_up = false;
}

bool StallRule::look(double now, const std::vector<session::StreamProgress>& streams) {
  bool due = false;
  double oldest_left = kNoDeadline;
  heads_.resize(std::max(heads_.size(), streams.size()));
  for (std::size_t i = 0; i < streams.size(); ++i) {
    Head& head = heads_[i];
    const session::StreamProgress& progress = streams[i];
    const bool same = head.progress.created == progress.created;
    const bool moved = same && progress.completed != head.progress.completed;
    if (moved) head.moved = head.progress.busy() ? head.since : looked_;
    if (!same) head.moved = -1;
    const bool began = progress.busy() && (!same || moved || !head.progress.busy());
    if (head.progress.busy() && (!same || moved || !progress.busy())) {
      oldest_left = std::min(oldest_left, head.since);
      leave(head, now);
    }
    if (began) {
      head.since = now;
      head.due = now + limit_ / far_longer_;
    }
    if (began || !progress.busy()) head.marked.reset();
    if (progress.certainly_busy() && !head.marked) {
      head.marked = now;
      head.due = std::min(head.due, now + limit_ / far_longer_);
    }
    head.progress = progress;
    due = due || (progress.busy() && now >= head.due);
  }
  looked_ = now;
  // When an operation finishes, other operations that reached the heads of their streams later may have waited for it.
  // Their time therefore restarts.
  for (Head& head : heads_) {
    if (head.marked && head.since >= oldest_left) head.marked = now;
  }
  return due;
}

double StallRule::patience(const Operation& operation, const ProcessRecord& record) const {
  const auto known = longest_.find(operation.site);
  const double usual = std::max(limit_, known == longest_.end() ? 0 : far_longer_ * known->second);
  const bool may_be_late = others_work_ && launches_nccl(record, operation);
  return may_be_late ? std::max(usual, kFarLate * limit_) : usual;
}

// Without a marker, the stream is known to have unfinished work only since a thread began to wait for it.
std::optional<double> StallRule::deadline(const UnfinishedWork& work, const UnfinishedStream& stream,
                                          const ProcessRecord& record, double now) const {
  const Head& head = heads_[stream.index];
  if (!stream.proven() || stream.candidates.empty() || !is_at_head(stream)) return std::nullopt;
  std::optional<double> free = head.marked;
  for (const WaitingThread& waiting : work.threads) {
    if (!free && waiting.stream == stream.index)
      free = std::max(head.since, now - seconds_before(waiting.since, record));
  }
  if (!free) return std::nullopt;
  for (const Operation* operation : stream.candidates) {
    *free = std::max(*free, now - seconds_before(operation->ticks, record)) + patience(*operation, record);
  }
  return *free + limit_ * stream.missing;
}

// Returns false if the stream has made progress since look().
bool StallRule::is_at_head(const UnfinishedStream& stream) const {
  const session::StreamProgress& seen = heads_[stream.index].progress;
  return stream.completed == seen.completed && std::max<std::uint64_t>(1, stream.stream->created) == seen.created;
}

StallRule::Graph StallRule::graph_of(const UnfinishedWork& work, const ProcessRecord& record, double now) {
  Graph graph;
  graph.work = &work;
  graph.heads = &heads_;
  const std::size_t size = work.streams.size();
  std::map<std::uint32_t, std::size_t> places;
  for (std::size_t i = 0; i < size; ++i) places[work.streams[i].index] = i;
  for (const UnfinishedStream& stream : work.streams) {
    Head& head = heads_[stream.index];
    head.sites.clear();
    for (const Operation* operation : stream.candidates) {
      if (is_at_head(stream)) head.sites.push_back(operation->site);
    }
    graph.deadlines.push_back(deadline(work, stream, record, now).value_or(kNoDeadline));
    graph.overdue.push_back(head.stall.has_value() || now >= graph.deadlines.back());
    std::vector<std::size_t>& edges = graph.edges.emplace_back();
    for (const std::uint32_t other : stream.streams_waited_for()) {
      if (const auto place = places.find(other); place != places.end()) edges.push_back(place->second);
    }
    for (std::size_t other = 0; stream.waits_for_any && other < size; ++other) {
      if (work.streams[other].index != stream.index) edges.push_back(other);
    }
  }
  for (std::size_t i = 0; i < size; ++i) graph.reach.push_back(reached_from({i}, graph.edges));
  return graph;
}

session::Stall StallRule::found(const session::Process& process, const Graph& graph,
                                const std::vector<std::size_t>& places, double now) {
  std::vector<const UnfinishedStream*> streams;
  for (const std::size_t place : places) streams.push_back(&graph.stream(place));
  const UnfinishedStream& first = *streams.front();
  // Finds the thread that has waited longest for the first stream, directly or indirectly.
  const WaitingThread* waiting = nullptr;
  for (const WaitingThread& thread : graph.work->threads) {
    bool waits =
        !thread.stream && thread.thread->blocked.site != 0 && seconds_before(thread.since, process.record) > kBegun;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const bool for_it = graph.stream(i).index == first.index || graph.reach[i][places.front()];
      waits = waits || (thread.stream == graph.stream(i).index && for_it);
    }
    if (waits && (waiting == nullptr || thread.stream == first.index)) waiting = &thread;
    if (waits && thread.stream == first.index) break;
  }
  Failure failure = *hang_of(process, streams, waiting, now - heads_[first.index].since);
  const Operation& operation = *failure.candidates.front().operation;
  const auto longest = longest_.find(operation.site);
  failure.evidence.add(
      operation.site_ordinal == 1 ? "it is the first call on its line"
      : longest == longest_.end()
          ? fmt::format("cudadiag saw no earlier call on its line take {:.1f} s", limit_ / far_longer_)
          : fmt::format("cudadiag saw no earlier call on its line take more than {:.1f} s", longest->second));
  return stall_of(failure);
}

bool StallRule::note_blocked(const Graph& graph, std::size_t place, double now) {
  Head& head = heads_[graph.stream(place).index];
  const bool blocked = !graph.stands(place) || !graph.is_cause(place);
  const bool before = std::exchange(head.held_up, blocked);
  if (!blocked && before) {
    // The operation may have begun only now.
    head.marked = now;
    head.due = now + limit_ / far_longer_;
  }
  return blocked || before;
}

std::vector<session::Stall> StallRule::judge(double now, const session::Process& process, bool others_work) {
  std::vector<session::Stall> stalls;
  others_work_ = others_work;
  const UnfinishedWork work = unfinished_work(process.record);
  for (Head& head : heads_) {
    // The longer the work is stuck without being reported, the less often it is checked.
    if (head.due <= now) head.due = head.stall ? kNoDeadline : now + std::max(limit_, now - head.since) / far_longer_;
  }
  // A stream that look() did not see may explain every delay, so nothing is reported.
  for (const UnfinishedStream& stream : work.streams) {
    if (stream.index >= heads_.size()) return stalls;
  }
  const Graph graph = graph_of(work, process.record, now);
  for (std::size_t place = 0; place < graph.size(); ++place) {
    Head& head = heads_[graph.stream(place).index];
    if (!graph.overdue[place] && graph.deadlines[place] != kNoDeadline) {
      // A deadline moves closer if the other processes stop working, so a distant deadline is checked early.
      head.due = others_work_ ? std::min(graph.deadlines[place], now + limit_) : graph.deadlines[place];
    }
    if (graph.told(place) || !graph.overdue[place]) continue;
    if (note_blocked(graph, place, now)) continue;
    // Streams that wait for each other have one cause, so they are reported together.
    const std::vector<std::size_t> together = graph.with_reached(place);
    const bool told = std::ranges::any_of(together, [&](std::size_t each) { return graph.told(each); });
    if (told || graph.stream(place).candidates.empty() || graph.may_not_have_begun(place, process.record)) continue;
    stalls.push_back(found(process, graph, together, now));
    head.stall = stalls_++;
    head.due = kNoDeadline;
  }
  return stalls;
}

std::vector<StallRule::Ended> StallRule::take_ended() { return std::exchange(ended_, {}); }

}  // namespace cudadiag::analyse
