#include "races/host_writes.h"

#include <algorithm>
#include <utility>

namespace cudadiag::races {
namespace {

// At most this many copies wait for a result. The recorder watches fewer at a time.
constexpr std::size_t kMostWatched = 128;
constexpr std::size_t kMostMediators = 1024;

}  // namespace

void HostWrites::mediator(Moment at, StreamNumber stream) {
  Access access;
  access.at = at;
  access.stream = stream;
  mediators_.push_back(access);
  if (mediators_.size() < kMostMediators) return;
  std::erase_if(mediators_, [this](const Access& each) { return order_.done(each); });
  // Drops the oldest mediator, because the same stream most likely has newer ones.
  if (mediators_.size() >= kMostMediators) mediators_.pop_front();
}

bool HostWrites::has_mediator(StreamNumber stream) const {
  return order_.vague(stream) || std::any_of(mediators_.begin(), mediators_.end(), [&](const Access& each) {
           return !order_.done(each) && order_.before(each, stream);
         });
}

void HostWrites::watch(Watched watched) {
  watched.written_before |= has_mediator(watched.copy.stream);
  watched_.push_back(std::move(watched));
  if (watched_.size() > kMostWatched) watched_.pop_front();
}

void HostWrites::used(const Access& access) {
  if (access.mode == Mode::read || access.mode == Mode::none) return;
  for (Watched& each : watched_) {
    if (each.written_beside || each.copy.at == access.at || order_.before(each.copy, access.stream)) continue;
    each.written_beside |= std::any_of(each.sources.begin(), each.sources.end(),
                                       [&](const Access& source) { return touches(source, access); });
  }
}

bool HostWrites::changed(const Change& change) {
  const auto watched =
      std::find_if(watched_.begin(), watched_.end(), [&](const Watched& each) { return each.number == change.number; });
  if (watched == watched_.end()) return false;
  const Watched of = std::move(*watched);
  watched_.erase(watched);
  if (of.written_beside || (of.written_before && !change.while_held) || change.bytes == 0) return false;
  const auto known =
      std::find_if(found_.begin(), found_.end(), [&](const Found& each) { return each.copy.site == of.copy.site; });
  if (known != found_.end()) {
    ++known->times;
    // A change while the stream was held back is more certain.
    if (change.while_held && !known->change.while_held) known->copy = of.copy, known->change = change;
    return false;
  }
  if (found_.size() >= kMostFound) return void(++unlisted_), false;
  found_.push_back({of.copy, change, 1});
  return true;
}

}  // namespace cudadiag::races
