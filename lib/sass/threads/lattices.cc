#include "sass/threads/lattices.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace cudadiag::sass {

// Simplifies the lattice. A level without gaps becomes part of the width. A level that continues a smaller level is
// merged into the smaller one.
void Lattices::fold(Lattice& lattice) {
  auto& levels = lattice.levels;
  std::erase_if(levels, [](const Level& level) { return level.count <= 1; });
  std::sort(levels.begin(), levels.end(), [](const Level& a, const Level& b) { return a.step < b.step; });
  while (!levels.empty() && levels.front().step <= lattice.width) {
    lattice.width += levels.front().step * (levels.front().count - 1);
    levels.erase(levels.begin());
  }
  for (std::size_t at = 0; at + 1 < levels.size();) {
    Level& inner = levels[at];
    const Level outer = levels[at + 1];
    if (outer.step % inner.step != 0 || outer.step / inner.step > inner.count) {
      ++at;
      continue;
    }
    inner.count += outer.step / inner.step * (outer.count - 1);
    levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

bool Lattices::add(const Form& first_byte, std::uint32_t width, const Box& box) {
  Lattice fresh{first_byte.base, width, {}};
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    const std::int64_t step = first_byte.steps[i];
    fresh.begin += step * (step > 0 ? box.low[i] : box.high[i]);
    if (step != 0) fresh.levels.push_back({std::abs(step), std::int64_t{box.high[i]} - box.low[i] + 1});
  }
  fold(fresh);
  const std::size_t looked_at = std::min(all_.size(), kLatest);
  for (auto known = all_.end() - static_cast<std::ptrdiff_t>(looked_at); known != all_.end(); ++known) {
    if (join(*known, fresh)) return true;
  }
  all_.push_back(std::move(fresh));
  if (all_.size() > kMost) join_all(all_);
  return all_.size() <= kMost;
}

bool Lattices::join(Lattice& to, const Lattice& other) {
  if (!join_side_by_side(to, other) && !join_in_a_row(to, other)) return false;
  fold(to);
  return true;
}

bool Lattices::join_side_by_side(Lattice& to, const Lattice& other) {
  if (to.levels != other.levels) return false;
  if (other.begin > to.begin + to.width || to.begin > other.begin + other.width) return false;
  const std::int64_t end = std::max(to.begin + to.width, other.begin + other.width);
  to.begin = std::min(to.begin, other.begin);
  to.width = end - to.begin;
  return true;
}

// Joins two lattices that differ only in the count of one level, if one lattice continues the other along that level.
bool Lattices::join_in_a_row(Lattice& to, const Lattice& other) {
  if (to.width != other.width) return false;
  const Lattice& more = to.levels.size() >= other.levels.size() ? to : other;
  const Lattice& fewer = &more == &to ? other : to;
  for (std::size_t at = 0; at < more.levels.size(); ++at) {
    Lattice one = more, rest = fewer;
    const std::int64_t step = one.levels[at].step;
    std::int64_t count = 1;
    one.levels.erase(one.levels.begin() + static_cast<std::ptrdiff_t>(at));
    if (rest.levels.size() == more.levels.size()) {
      if (rest.levels[at].step != step) continue;
      count = rest.levels[at].count;
      rest.levels.erase(rest.levels.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (one.levels != rest.levels || (rest.begin - one.begin) % step != 0) continue;
    const std::int64_t apart = (rest.begin - one.begin) / step, counts = more.levels[at].count;
    if (apart > counts || -apart > count) continue;
    const std::int64_t begin = std::min<std::int64_t>(0, apart), end = std::max(counts, apart + count);
    one.begin += begin * step;
    one.levels.push_back({step, end - begin});
    to = std::move(one);
    return true;
  }
  return false;
}

void Lattices::join_all(std::vector<Lattice>& all) {
  std::sort(all.begin(), all.end(), [](const Lattice& a, const Lattice& b) { return a.begin < b.begin; });
  for (bool again = true; again;) {
    again = false;
    for (std::size_t at = 0; at < all.size(); ++at) {
      for (std::size_t other = at + 1; other < all.size();) {
        if (!join(all[at], all[other])) {
          ++other;
          continue;
        }
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(other));
        again = true;
      }
    }
  }
}

// Turns single pieces at equal distances into rows.
void Lattices::make_rows(std::vector<Lattice>& all) {
  std::sort(all.begin(), all.end(), [](const Lattice& a, const Lattice& b) { return a.begin < b.begin; });
  const auto alike = [&](std::size_t a, std::size_t b) {
    return all[a].levels.empty() && all[b].levels.empty() && all[a].width == all[b].width;
  };
  for (std::size_t at = 0; at + 2 < all.size(); ++at) {
    const std::int64_t step = all[at + 1].begin - all[at].begin;
    std::size_t end = at + 1;
    while (end < all.size() && alike(at, end) && all[end].begin - all[end - 1].begin == step) ++end;
    if (end - at < 3) continue;
    all[at].levels.push_back({step, static_cast<std::int64_t>(end - at)});
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at) + 1, all.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

// Splits the lattices until each has at most one level. Returns false if this needs more than `most` lattices.
bool Lattices::expand(std::vector<Lattice>& all, std::size_t most) {
  for (std::size_t at = 0; at < all.size() && all.size() <= most;) {
    auto& levels = all[at].levels;
    if (levels.size() <= 1) {
      ++at;
      continue;
    }
    const auto few = std::min_element(levels.begin(), levels.end(),
                                      [](const Level& a, const Level& b) { return a.count < b.count; });
    const Level level = *few;
    levels.erase(few);
    if (level.count > static_cast<std::int64_t>(most)) return false;
    for (std::int64_t each = 1; each < level.count; ++each) {
      all.push_back(all[at]);
      all.back().begin += each * level.step;
    }
  }
  return all.size() <= most;
}

std::optional<std::vector<ByteRows>> Lattices::rows(std::size_t most) const {
  std::vector<Lattice> all = all_;
  join_all(all);
  make_rows(all);
  if (!expand(all, most)) return std::nullopt;
  std::vector<ByteRows> out;
  for (const Lattice& each : all) {
    const Level level = each.levels.empty() ? Level{0, 1} : each.levels.front();
    if (level.count > std::int64_t{0xffffffff}) return std::nullopt;
    out.push_back({each.begin, static_cast<std::uint64_t>(each.width), static_cast<std::uint64_t>(level.step),
                   static_cast<std::uint32_t>(level.count)});
  }
  return out;
}

}  // namespace cudadiag::sass
