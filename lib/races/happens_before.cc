#include "races/happens_before.h"

#include <algorithm>
#include <utility>

namespace cudadiag::races {
namespace {

// Clocks with at least this many entries are pruned.
constexpr std::size_t kRoomy = 64;
constexpr std::size_t kMostGone = 1024;

}  // namespace

// ---- clocks

Moment Clock::at(Component component) const {
  const auto entry = std::ranges::lower_bound(entries_, component, {}, &Entry::component);
  return entry != entries_.end() && entry->component == component ? entry->moment : 0;
}

void Clock::raise(Component component, Moment to) {
  const auto entry = std::ranges::lower_bound(entries_, component, {}, &Entry::component);
  if (entry == entries_.end() || entry->component != component) {
    entries_.insert(entry, {to, component});
  } else {
    entry->moment = std::max(entry->moment, to);
  }
}

void Clock::join(const Clock& other) {
  vague_ |= other.vague_;
  std::size_t missing = 0;
  auto mine = entries_.begin();
  for (const Entry& theirs : other.entries_) {
    while (mine != entries_.end() && mine->component < theirs.component) ++mine;
    if (mine == entries_.end() || mine->component != theirs.component) {
      ++missing;
    } else {
      mine->moment = std::max(mine->moment, theirs.moment);
    }
  }
  if (missing == 0) return;
  // Merges backwards, so that no entry moves twice.
  auto from = static_cast<std::ptrdiff_t>(entries_.size()) - 1;
  entries_.resize(entries_.size() + missing);
  auto to = static_cast<std::ptrdiff_t>(entries_.size()) - 1;
  for (auto theirs = other.entries_.rbegin(); theirs != other.entries_.rend(); ++theirs) {
    while (from >= 0 && entries_[from].component > theirs->component) entries_[to--] = entries_[from--];
    if (from >= 0 && entries_[from].component == theirs->component) {
      entries_[to--] = entries_[from--];
    } else {
      entries_[to--] = *theirs;
    }
  }
}

// ---- streams

Order::Context& Order::context_of(std::uint32_t context) {
  const auto [at, fresh] = contexts_.try_emplace(context);
  if (fresh) at->second.barrier = components_++;
  return at->second;
}

StreamNumber Order::stream_made(const StreamTraits& traits) {
  context_of(traits.context);
  Stream& made = streams_.emplace_back();
  made.traits = traits;
  made.component = components_++;
  return static_cast<StreamNumber>(streams_.size() - 1);
}

void Order::stream_gone(StreamNumber number) {
  Stream& stream = streams_[number];
  if (stream.traits.legacy) return;  // it exists as long as its context
  Context& context = context_of(stream.traits.context);
  const auto leave = [&](bool& in, std::vector<StreamNumber>& among, Clock& behind) {
    if (!std::exchange(in, false)) return;
    std::erase(among, number);
    behind.join(stream.clock);
    behind.raise(stream.component, now_);
    prune(behind);
  };
  leave(stream.active, context.active, context.gone_active);
  leave(stream.pending, context.pending, context.gone_pending);
  stream.clock = {};
  gone_.push_back(stream.component);
  if (gone_.size() <= kMostGone) return;
  raise_host(gone_.front(), now_);
  gone_.pop_front();
}

Moment Order::issue(StreamNumber number) {
  Stream& stream = streams_[number];
  Context& context = context_of(stream.traits.context);
  const Moment now = ++now_;
  if (!stream.active) {
    stream.active = true;
    context.active.push_back(number);
  }
  if (stream.traits.legacy) {
    for (const StreamNumber other : context.pending) {
      stream.clock.join(streams_[other].clock);
      streams_[other].pending = false;
    }
    context.pending.clear();
    stream.clock.join(std::exchange(context.gone_pending, {}));
    stream.clock.raise(context.barrier, now);
    context.legacy = number;
    context.legacy_at = now;
  } else if (stream.traits.blocking) {
    if (context.legacy_at > stream.legacy_seen) {
      const Stream& legacy = streams_[context.legacy];
      stream.clock.join(legacy.clock);
      stream.clock.raise(legacy.component, context.legacy_at);
      stream.legacy_seen = now;
    }
    if (!stream.pending) {
      stream.pending = true;
      context.pending.push_back(number);
    }
  }
  note_blur(stream);
  return now;
}

// Records the first moment at which the stream may have waited for more than its clock shows.
void Order::note_blur(Stream& stream) const {
  if (stream.blurred == 0 && stream.clock.vague()) stream.blurred = now_;
}

void Order::remember(Point& point, StreamNumber number) const {
  const Stream& stream = streams_[number];
  point.clock = stream.clock;
  prune(point.clock);
  point.component = stream.component;
  point.at = now_;
}

void Order::join(Clock& clock, const Point& point) {
  if (clock.at(point.component) >= point.at) return;  // the clock already includes the point
  clock.join(point.clock);
  clock.raise(point.component, point.at);
  prune(clock);
}

void Order::prune(Clock& clock) const {
  if (clock.size() < kRoomy) return;
  clock.drop_if([this](Component component, Moment moment) { return host_knows(component, moment); });
}

// ---- events

void Order::event_made(std::uint64_t event) { events_[event] = {}; }

void Order::event_recorded(std::uint64_t event, StreamNumber stream) {
  issue(stream);
  remember(events_[event], stream);
}

void Order::event_waited(std::uint64_t event, StreamNumber stream) {
  issue(stream);
  const auto known = events_.find(event);
  if (known == events_.end()) {
    streams_[stream].clock.blur();
  } else if (known->second.at != 0) {
    join(streams_[stream].clock, known->second);
  }
}

void Order::event_seen(std::uint64_t event) {
  const auto known = events_.find(event);
  if (known == events_.end()) return stranger_met();
  if (known->second.at != 0) host_joins(known->second.clock, known->second.component, known->second.at);
}

// ---- words

namespace {

constexpr std::size_t kMostWritten = 32;

Access at(Moment moment, StreamNumber stream) {
  Access access;
  access.at = moment;
  access.stream = stream;
  return access;
}

}  // namespace

void Order::note_written(Word& word, StreamNumber stream, std::optional<std::uint64_t> value) const {
  if (word.size() >= kMostWritten) word.erase(word.begin());
  word.push_back({{}, stream, value});
  remember(word.back().point, stream);
}

bool Order::follows(const Written& later, const Written& earlier) const {
  const Access before = at(earlier.point.at, earlier.stream);
  return later.stream == earlier.stream || covers(later.point.clock, before) || done(before);
}

// Several values may have ended the stream's wait. If one of them was written before all the others, returns it,
// because it was certainly written before the wait ended. Otherwise, returns null.
const Order::Written* Order::surely_met(const Word& word, StreamNumber stream,
                                        const std::function<bool(std::uint64_t)>& meets) const {
  const auto over = [&](auto written) {
    return std::any_of(written + 1, word.end(), [&](const Written& later) {
      return before(at(later.point.at, later.stream), stream) && follows(later, *written);
    });
  };
  const Written* first = nullptr;
  for (auto each = word.begin(); each != word.end(); ++each) {
    if (!each->value || !meets(*each->value) || over(each)) continue;
    if (first == nullptr) {
      first = &*each;
    } else if (!follows(*each, *first)) {
      return nullptr;
    }
  }
  return first;
}

void Order::word_written(std::uint64_t address, StreamNumber stream, std::uint64_t value) {
  issue(stream);
  note_written(words_[address], stream, value);
  tell(stream);
}

void Order::word_waited(std::uint64_t address, StreamNumber stream, const std::function<bool(std::uint64_t)>& meets) {
  issue(stream);
  const auto known = words_.find(address);
  if (known != words_.end()) {
    const Word& word = known->second;
    const Written* met = meets ? surely_met(word, stream, meets) : &word.back();
    if (met != nullptr) join(streams_[stream].clock, met->point);
  }
  streams_[stream].clock.blur();
}

void Order::words_overwritten(std::uint64_t begin, std::uint64_t end, StreamNumber stream) {
  for (auto word = words_.lower_bound(begin); word != words_.end() && word->first < end; ++word) {
    note_written(word->second, stream, std::nullopt);
  }
}

// ---- what the host learns through host functions

void Order::host_told(StreamNumber stream) {
  issue(stream);
  tell(stream);
}

void Order::tell(StreamNumber number) {
  const Stream& stream = streams_[number];
  told_.join(stream.clock);
  told_.raise(stream.component, now_);
  prune(told_);
  if (stream.clock.vague()) stranger_met();
}

void Order::stranger_waited(StreamNumber stream) {
  issue(stream);
  streams_[stream].clock.blur();
}

Moment Order::graph_launched(std::uint64_t executable, StreamNumber stream) {
  const Moment now = issue(stream);
  Point& last = graphs_[executable];
  if (last.at != 0) join(streams_[stream].clock, last);
  note_blur(streams_[stream]);
  remember(last, stream);
  return now;
}

// ---- the host

void Order::raise_host(Component component, Moment at) {
  if (component >= host_.size()) host_.resize(std::max<std::size_t>(component + 1, host_.size() * 2));
  host_[component] = std::max(host_[component], at);
}

void Order::host_joins(const Clock& clock, Component component, Moment at) {
  clock.each([this](Component known, Moment moment) { raise_host(known, moment); });
  raise_host(component, at);
  if (clock.vague()) stranger_met();
}

// The host saw all work on the stream finish, including any untracked wait. The order of later work on the stream is
// certain again.
void Order::finished(Stream& stream) {
  host_joins(stream.clock, stream.component, now_);
  stream.clock.sharpen();
  stream.blurred = 0;
}

void Order::stream_seen(StreamNumber number) {
  // Waiting for the legacy stream also waits for the blocking streams.
  if (streams_[number].traits.legacy) issue(number);
  finished(streams_[number]);
}

void Order::context_seen(std::uint32_t number) {
  Context& context = context_of(number);
  for (const StreamNumber stream : context.active) {
    finished(streams_[stream]);
    streams_[stream].active = false;
    streams_[stream].clock.drop_if([this](Component c, Moment moment) { return host_knows(c, moment); });
  }
  context.active.clear();
  host_joins(std::exchange(context.gone_active, {}), context.barrier, now_);
}

// ---- questions

bool Order::done(const Access& access) const {
  const Stream& of = streams_[access.stream];
  if (host_knows(of.component, access.at)) return true;
  return of.traits.blocking && host_knows(contexts_.find(of.traits.context)->second.barrier, access.at);
}

bool Order::covers(const Clock& clock, const Access& access) const {
  const Stream& of = streams_[access.stream];
  if (clock.at(of.component) >= access.at) return true;
  return of.traits.blocking && clock.at(contexts_.find(of.traits.context)->second.barrier) >= access.at;
}

bool Order::before(const Access& access, StreamNumber stream) const {
  return access.stream == stream || covers(streams_[stream].clock, access) || done(access);
}

bool Order::uncertain(const Access& access, StreamNumber stream) const {
  const Moment blurred = streams_[access.stream].blurred;
  return streams_[stream].clock.vague() || (blurred != 0 && blurred <= access.at) || access.at <= unsure_until_ ||
         covers(told_, access);
}

bool Order::ever_waited(StreamNumber stream, StreamNumber other) const {
  const Component component = streams_[other].component;
  return streams_[stream].clock.at(component) > 0 || host_knows(component, 1);
}

}  // namespace cudadiag::races
