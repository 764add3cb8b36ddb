#include "races/host_writes.h"

#include <algorithm>
#include <utility>

namespace cudadiag::races {
namespace {

// Limits `watched_`. The recorder never watches this many copies at a time.
constexpr std::size_t kMostWatched = 128;
// Limits `mediators_`, which includes every launch of a kernel whose code is unknown. Drivers never queue this many
// operations.
constexpr std::size_t kMostMediators = 4096;

}  // namespace

void HostWrites::note(Moment at, StreamNumber stream, Mode mode) {
  Access access;
  access.at = at;
  access.stream = stream;
  access.mode = mode;
  mediators_.push_back(access);
  if (mediators_.size() < kMostMediators) return;
  std::erase_if(mediators_, [this](const Access& each) { return order_.done(each); });
  // Drop the oldest entries, because their streams probably have newer ones. Drop many at once, because searching for
  // finished operations is slow.
  constexpr std::size_t kKept = kMostMediators / 4 * 3;
  while (mediators_.size() > kKept) mediators_.pop_front();
}

void HostWrites::writes_anywhere(Moment at, StreamNumber stream) {
  note(at, stream, Mode::write);
  for (Watched& each : watched_) each.written_beside |= !order_.before(each.copy, stream);
}

void HostWrites::watch(Watched watched) {
  const StreamNumber stream = watched.copy.stream;
  watched.written_before |= order_.vague(stream);
  for (const Access& each : mediators_) {
    if (order_.done(each)) continue;
    if (order_.before(each, stream)) {
      watched.written_before = true;
    } else {
      watched.written_beside |= each.mode == Mode::write;
    }
  }
  watched_.push_back(std::move(watched));
  if (watched_.size() > kMostWatched) watched_.pop_front();
}

void HostWrites::used(const Access& access) {
  if (access.mode == Mode::read || access.mode == Mode::none) return;
  for (Watched& each : watched_) {
    if (each.written_beside || each.copy.at == access.at || order_.before(each.copy, access.stream)) continue;
    each.written_beside |=
        std::ranges::any_of(each.sources, [&](const Access& source) { return touches(source, access); });
  }
}

namespace {

using Of = HostWrites::Watched::Of;

// Returns whether the source is certain to have changed. Between the first and the last changed byte, others may be
// unchanged, and a kernel need not read all of them.
bool has_changed(const Access& source, const HostWrites::Change& change, Of of) {
  if (of == Of::graph) return change.begin >= source.begin && change.begin < source.end();
  const bool dense = source.rows == 1 || source.pitch == source.width;
  if (dense && source.begin <= change.begin && change.end <= source.end()) return true;
  Access changed;
  changed.begin = change.begin;
  changed.width = change.end - change.begin;
  changed.exact = true;
  return change.bytes == changed.width && touches(source, changed);
}

// Finds the source that changed, and cuts the change to it.
bool choose_source(HostWrites::Watched& watched, HostWrites::Change& change) {
  for (const Access& source : watched.sources) {
    if (!has_changed(source, change, watched.of)) continue;
    watched.copy = source;
    change.begin = std::max(change.begin, source.begin);
    change.end = std::min(change.end, source.end());
    change.bytes = std::min(change.bytes, change.end - change.begin);
    return true;
  }
  return false;
}

// Keeps the calls around one of the changes. A change during which no other thread ran is the best known: the issuing
// thread made it.
void note_calls(HostWrites::Change& known, HostWrites::Change& change) {
  const auto copy = [](const HostWrites::Change& from, HostWrites::Change& to) {
    to.unchanged_at = from.unchanged_at, to.changed_at = from.changed_at, to.others_ran = from.others_ran;
  };
  const bool better = change.unchanged_at != 0 && (known.unchanged_at == 0 || (known.others_ran && !change.others_ran));
  better ? copy(change, known) : copy(known, change);
}

}  // namespace

bool HostWrites::changed(Change change) {
  const auto watched = std::ranges::find(watched_, change.number, &Watched::number);
  if (watched == watched_.end()) return false;
  Watched of = std::move(*watched);
  watched_.erase(watched);
  if (of.of != Of::copy && !choose_source(of, change)) return false;
  if (change.after_begin && of.may_change_inside) return false;
  if (of.written_beside || (of.written_before && !change.while_held) || change.bytes == 0) return false;
  const auto known = std::ranges::find_if(found_, [&](const Found& each) { return each.copy.site == of.copy.site; });
  if (known != found_.end()) {
    ++known->times;
    note_calls(known->change, change);
    // Prefer a change that happened while the stream was held back, because its origin is more certain.
    if (change.while_held && !known->change.while_held) {
      *known = {of.copy, change, of.launched, known->times};
    }
    return false;
  }
  if (found_.size() >= kMostFound) return void(++unlisted_), false;
  found_.push_back({of.copy, change, of.launched});
  return true;
}

}  // namespace cudadiag::races
