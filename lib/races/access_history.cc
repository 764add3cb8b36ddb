#include "races/access_history.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cudadiag::races {
namespace {

// Replaces a mode that means "near an address" if `other` allocates or frees memory. An allocation or a free affects
// the whole block, so it does not matter which bytes near the address are used.
Mode somewhere_in(const Access& other, Mode mode) {
  if (other.what != What::allocation && other.what != What::free) return mode;
  return mode == Mode::near_read ? Mode::read : mode == Mode::near_write ? Mode::unknown : mode;
}

// Returns whether the newer access makes the older one redundant: every later access that races with the older one also
// races with the newer one. The older access must happen before the newer one.
bool stands_for(const Access& newer, const Access& older) {
  const auto memory_itself = [](const Access& a) { return a.what == What::allocation || a.what == What::free; };
  if (newer.rows > 1 || (memory_itself(older) && !memory_itself(newer))) return false;
  return newer.mode == Mode::write || (newer.mode == Mode::read && older.mode == Mode::read);
}

bool is_older(const Access& a, const Access& b) { return a.at < b.at; }

// Returns the stream with the most accesses in the list, and their number.
std::pair<StreamNumber, std::ptrdiff_t> busiest_stream(const std::vector<Access>& place) {
  StreamNumber stream = 0;
  std::ptrdiff_t most = 0;
  for (const Access& access : place) {
    if (access.stream == stream && most > 0) continue;
    const std::ptrdiff_t count = std::ranges::count(place, access.stream, &Access::stream);
    if (count > most) most = count, stream = access.stream;
  }
  return {stream, most};
}

std::vector<Access>::iterator oldest(std::vector<Access>& place) { return std::ranges::min_element(place, is_older); }

// Returns an access of the stream: a read if possible, otherwise one that may not write, and the oldest of these.
std::vector<Access>::iterator least_telling(std::vector<Access>& place, StreamNumber stream) {
  const auto rank = [&](const Access& a) {
    return std::tuple{a.stream != stream, alters(a.mode) ? 2 : a.mode == Mode::read ? 0 : 1, a.at};
  };
  return std::ranges::min_element(place, [&](const Access& a, const Access& b) { return rank(a) < rank(b); });
}

}  // namespace

History::History(const Order& order, ModeOf mode_of, std::size_t most_accesses)
    : order_(order), mode_of_(std::move(mode_of)), most_(most_accesses) {}

// ---- places

History::Place& History::point(std::uint64_t address) {
  Hint& hint = hints_[(address >> 4) * 0x9e3779b97f4a7c15u >> (64 - kHintBits)];
  if (hint.generation != generation_ || hint.address != address) hint = {address, &points_[address], generation_};
  return *hint.place;
}

// Splits the piece that contains the address, so that a new piece begins at the address.
void History::split(std::uint64_t at) {
  auto behind = pieces_.upper_bound(at);
  if (behind == pieces_.begin()) return;
  const auto before = std::prev(behind);
  if (before->first == at || before->second.end <= at) return;
  accesses_ += before->second.place.size();
  pieces_.emplace_hint(behind, at, Piece{before->second.end, before->second.place});
  before->second.end = at;
}

// Does not store reads that happen during their calls. They finish before anything later is issued, so they cannot race
// with it.
void History::put(Place& place, Access access) {
  if (access.when == When::during_call) return;
  for (Access& known : place) {
    if (known.function != access.function || known.stream != access.stream || known.what != access.what ||
        known.mode != access.mode || known.parameter != access.parameter || known.rows != access.rows ||
        known.width != access.width || known.begin != access.begin) {
      continue;
    }
    access.hidden += known.hidden;
    known = access;
    return;
  }
  if (place.size() >= kMostPerPlace) make_room_at(place, access);
  place.push_back(access);
  ++accesses_;
}

// Removes accesses that cannot race with later ones. If there are none, removes the oldest access that `coming` makes
// redundant. Failing that, removes an access of the stream with the most accesses at this place. A stream keeps its
// last access unless there are very many streams.
void History::make_room_at(Place& place, Access& coming) {
  if (const std::size_t over = std::erase_if(place, [this](const Access& known) { return order_.done(known); })) {
    accesses_ -= over;
    return;
  }
  auto victim = oldest_redundant(place, coming);
  if (victim != place.end()) {
    if (coming.mode != Mode::write) coming.hidden += victim->hidden;
  } else {
    const auto [stream, most] = busiest_stream(place);
    if (most <= 2 && place.size() < kMostPerCrowdedPlace) return;
    victim = most > 1 ? least_telling(place, stream) : oldest(place);
    pass_on_hidden(place, *victim, coming);
  }
  place.erase(victim);
  --accesses_;
}

// Returns the oldest access that `coming` makes redundant; the end if there is none.
History::Place::iterator History::oldest_redundant(Place& place, const Access& coming) const {
  auto found = place.end();
  for (auto each = place.begin(); each != place.end(); ++each) {
    if (found != place.end() && !is_older(*each, *found)) continue;
    if (stands_for(coming, *each) && order_.before(*each, coming.stream)) found = each;
  }
  return found;
}

// Counts the accesses that `victim` hides in a newer access of its stream, preferably in one that makes `victim`
// redundant. If none does, also counts `victim` itself.
void History::pass_on_hidden(Place& place, const Access& victim, Access& coming) {
  const auto newest = [&](const auto& wanted) {
    return std::find_if(place.rbegin(), place.rend(), [&](const Access& known) {
      return known.stream == victim.stream && is_older(victim, known) && wanted(known);
    });
  };
  auto newer = newest([&](const Access& known) { return stands_for(known, victim); });
  const std::uint32_t hidden = victim.hidden + (newer == place.rend() ? 1 : 0);
  if (newer == place.rend()) newer = newest([](const Access&) { return true; });
  if (newer != place.rend()) {
    newer->hidden += hidden;
  } else if (coming.stream == victim.stream) {
    coming.hidden += hidden;
  } else {
    forgotten_ += hidden;
  }
}

void History::add(Access access) {
  if (accesses_ >= most_) make_room();
  if (!access.exact) {
    Place& place = point(access.begin);
    access.may_be_base = std::ranges::any_of(place, [&](const Access& known) {
      return known.function == access.function && known.parameter == access.parameter && known.stream != access.stream;
    });
    check(place, access);
    const auto behind = pieces_.upper_bound(access.begin);
    if (behind != pieces_.begin()) {
      Piece& piece = std::prev(behind)->second;
      if (piece.end > access.begin) check(piece.place, access);
    }
    return put(place, access);
  }
  if (access.width == 0 || access.rows == 0 || access.end() <= access.begin) return;
  const std::uint64_t begin = access.begin, end = access.end();
  for (auto at = points_.lower_bound(begin); at != points_.end() && at->first < end; ++at) check(at->second, access);
  split(begin);
  split(end);
  std::uint64_t from = begin;
  for (auto at = pieces_.lower_bound(begin); from < end; ++at) {
    if (at == pieces_.end() || at->first > from) {
      const std::uint64_t to = at == pieces_.end() ? end : std::min(end, at->first);
      at = pieces_.emplace_hint(at, from, Piece{to, {}});
    }
    check(at->second.place, access);
    put(at->second.place, access);
    from = at->second.end;
  }
}

void History::each_writer(const Access& by, std::uint64_t begin, std::uint64_t end,
                          const std::function<void(const Access&)>& visit) const {
  const auto visit_writers = [&](const Place& place, bool anywhere) {
    for (const Access& access : place) {
      if (access.at == by.at || order_.done(access) || !(anywhere || touches(access, by))) continue;
      if (may_alter(resolved(access).value_or(Mode::unknown))) visit(access);
    }
  };
  for (auto at = points_.lower_bound(begin); at != points_.end() && at->first < end; ++at) {
    visit_writers(at->second, true);
  }
  auto at = pieces_.upper_bound(by.begin);
  if (at != pieces_.begin()) --at;
  for (; at != pieces_.end() && at->first < by.end(); ++at) visit_writers(at->second.place, false);
}

void History::forget(std::uint64_t begin, std::uint64_t bytes) {
  const std::uint64_t end = begin + bytes;
  if (end <= begin) return;
  const auto first_point = points_.lower_bound(begin), last_point = points_.lower_bound(end);
  if (first_point != last_point) ++generation_;
  for (auto at = first_point; at != last_point; ++at) accesses_ -= at->second.size();
  points_.erase(first_point, last_point);
  split(begin);
  split(end);
  const auto first = pieces_.lower_bound(begin), last = pieces_.lower_bound(end);
  for (auto at = first; at != last; ++at) accesses_ -= at->second.place.size();
  pieces_.erase(first, last);
}

void History::forget_all() {
  ++generation_;
  points_.clear();
  pieces_.clear();
  accesses_ = 0;
}

// Drops accesses that cannot race with later ones. If that does not free enough room, drops the older half of the
// remaining ones.
void History::make_room() {
  std::vector<Moment> moments;
  const auto sweep = [&](const auto& gone) {
    const auto clean = [&](Place& place) { accesses_ -= std::erase_if(place, gone); };
    for (auto& [address, place] : points_) clean(place);
    for (auto& [address, piece] : pieces_) clean(piece.place);
    std::erase_if(points_, [](const auto& entry) { return entry.second.empty(); });
    std::erase_if(pieces_, [](const auto& entry) { return entry.second.place.empty(); });
  };
  ++generation_;
  sweep([&](const Access& access) {
    if (order_.done(access)) return true;
    moments.push_back(access.at);
    return false;
  });
  if (moments.size() < most_ / 2) return;
  const auto middle = moments.begin() + static_cast<std::ptrdiff_t>(moments.size() / 2);
  std::nth_element(moments.begin(), middle, moments.end());
  const std::size_t before = accesses_;
  sweep([oldest = *middle](const Access& access) { return access.at <= oldest; });
  forgotten_ += before - accesses_;
}

// ---- races

void History::check(Place& place, const Access& access) {
  bool stale = false;
  for (Access& known : place) {
    const bool in_stream = access.when == When::in_stream;
    if (known.at == access.at || (in_stream && known.stream == access.stream)) continue;
    // An access outside stream order follows an earlier access only if the host has seen the earlier access finish.
    if (in_stream ? order_.before(known, access.stream) : order_.done(known)) {
      stale |= order_.done(known);
      continue;
    }
    forgotten_ += std::exchange(known.hidden, 0);
    if (touches(known, access)) compare(known, access);
  }
  if (stale) accesses_ -= std::erase_if(place, [this](const Access& known) { return order_.done(known); });
}

std::optional<Mode> History::resolved(const Access& access) const {
  const bool open = access.mode == Mode::unknown && access.what == What::kernel && mode_of_;
  return open ? mode_of_(access) : access.mode;
}

void History::compare(const Access& earlier, const Access& later) {
  Conflict race{earlier, later};
  race.uncertain = order_.uncertain(earlier, later.stream);
  race.ever_waited = order_.ever_waited(later.stream, earlier.stream);
  if (conclude(race, false)) return;
  const auto side = [](const Access& a) { return std::array{a.site, a.function, a.parameter, a.node, a.words}; };
  const auto x = side(earlier), y = side(later);
  const std::array<std::uint32_t, 12> key{
      x[0],
      x[1],
      x[2],
      x[3],
      x[4],
      y[0],
      y[1],
      y[2],
      y[3],
      y[4],
      static_cast<std::uint32_t>(earlier.what) << 8 | static_cast<std::uint32_t>(later.what),
      race.uncertain ? 1u : 0u};
  const auto known = open_.find(key);
  if (known != open_.end()) {
    ++known->second.times;
  } else if (open_.size() < kMostOpen) {
    open_.emplace(key, race);
  } else {
    ++unlisted_;
  }
}

void History::settle(bool at_last) {
  for (auto each = open_.begin(); each != open_.end();) {
    each = conclude(each->second, at_last) ? open_.erase(each) : std::next(each);
  }
}

namespace {

// Returns true if the kernel might not use the bytes at the address that it received. The address may be only a base,
// or an end pointer that is equal to the beginning of the other access.
bool may_keep_off(const Access& unknown, const Access& other) {
  if (unknown.mode != Mode::unknown) return false;
  return unknown.may_be_base || (unknown.may_end && unknown.begin == other.begin);
}

}  // namespace

bool History::conclude(Conflict& race, bool at_last) {
  const auto first = resolved(race.first), second = resolved(race.second);
  if ((!first || !second) && !at_last) return false;
  const Mode a = race.first.mode = somewhere_in(race.second, first.value_or(Mode::unknown));
  const Mode b = race.second.mode = somewhere_in(race.first, second.value_or(Mode::unknown));
  if (is_near(a) || is_near(b)) {
    if (may_alter(a) || may_alter(b)) keep_unjudged(race);
    return true;
  }
  if (a == Mode::none || b == Mode::none || (a == Mode::atomic && b == Mode::atomic)) return true;
  const bool altered = alters(a) || alters(b), unknown = a == Mode::unknown || b == Mode::unknown;
  if (!altered && a == b && unknown) keep_unjudged(race);
  if (!altered && (!unknown || a == b)) return true;
  // An access of unknown mode may also be atomic.
  const bool written = a == Mode::write || b == Mode::write;
  race.possible = race.uncertain || (unknown && !written) || may_keep_off(race.first, race.second) ||
                  may_keep_off(race.second, race.first);
  keep(race);
  return true;
}

void History::keep(const Conflict& race) {
  const Access &earlier = race.first, &later = race.second;
  std::array<std::uint32_t, 3> x{earlier.site, earlier.function, earlier.node};
  std::array<std::uint32_t, 3> y{later.site, later.function, later.node};
  if (y < x) std::swap(x, y);
  const auto [at, fresh] = index_.try_emplace({x[0], x[1], x[2], y[0], y[1], y[2]}, races_.size());
  if (!fresh) {
    Conflict& known = races_[at->second];
    const std::uint64_t times = known.times + race.times;
    const auto parameters = [](const Conflict& of) { return std::minmax(of.first.parameter, of.second.parameter); };
    const bool several = known.several || parameters(known) != parameters(race);
    // A definite race replaces a possible one.
    if (known.possible && !race.possible) known = race;
    known.times = times;
    known.several = several;
  } else if (races_.size() < kMostRaces) {
    races_.push_back(race);
  } else {
    index_.erase(at);
    ++unlisted_;
  }
}

void History::keep_unjudged(const Conflict& race) {
  unjudged_ += race.times;
  const auto side = [](const Access& a) { return std::array{a.site, a.function, a.parameter, a.node}; };
  for (Conflict& known : unjudged_pairs_) {
    const bool same = side(known.first) == side(race.first) && side(known.second) == side(race.second);
    if (same && known.uncertain == race.uncertain) return void(known.times += race.times);
  }
  if (unjudged_pairs_.size() < kMostUnjudged) unjudged_pairs_.push_back(race);
}

}  // namespace cudadiag::races
