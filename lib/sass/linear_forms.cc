#include "sass/linear_forms.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace cudadiag::sass {

namespace {

__extension__ using Int128 = __int128;

bool fits(Int128 value) { return value >= -kMostOfForm && value <= kMostOfForm; }

}  // namespace

std::int64_t divided_down(std::int64_t value, std::int64_t by) {
  const std::int64_t quotient = value / by;
  return value % by < 0 ? quotient - 1 : quotient;
}

bool Form::is_constant() const {
  return std::ranges::all_of(steps, [](std::int64_t step) { return step == 0; });
}

Form constant(std::int64_t value) { return {value, {}}; }

Form coordinate(std::size_t which) {
  Form form;
  form.steps[which] = 1;
  return form;
}

std::optional<Form> sum(const Form& a, const Form& b) {
  const Int128 base = Int128{a.base} + b.base;
  Form out{static_cast<std::int64_t>(base), {}};
  bool fit = fits(base);
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    out.steps[i] = a.steps[i] + b.steps[i];
    fit &= fits(out.steps[i]);
  }
  return fit ? std::optional(out) : std::nullopt;
}

std::optional<Form> difference(const Form& a, const Form& b) {
  const auto turned = times(b, -1);
  return turned ? sum(a, *turned) : std::nullopt;
}

std::optional<Form> times(const Form& a, std::int64_t factor) {
  Form out;
  const Int128 base = Int128{a.base} * factor;
  bool fit = fits(base);
  out.base = static_cast<std::int64_t>(base);
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    const Int128 step = Int128{a.steps[i]} * factor;
    fit &= fits(step);
    out.steps[i] = static_cast<std::int64_t>(step);
  }
  return fit ? std::optional(out) : std::nullopt;
}

std::optional<Form> wrapped_sum(const Form& a, const Form& b) {
  if (!a.is_constant() || !b.is_constant()) return sum(a, b);
  return constant(static_cast<std::int64_t>(static_cast<std::uint64_t>(a.base) + static_cast<std::uint64_t>(b.base)));
}

std::optional<Form> wrapped_product(const Form& a, std::int64_t factor) {
  if (!a.is_constant()) return times(a, factor);
  return constant(static_cast<std::int64_t>(static_cast<std::uint64_t>(a.base) * static_cast<std::uint64_t>(factor)));
}

bool is_multiple(const Form& a, std::int64_t of) {
  return a.base % of == 0 && std::ranges::all_of(a.steps, [of](std::int64_t step) { return step % of == 0; });
}

bool same_low_word(const Form& a, const Form& b) {
  Form difference{static_cast<std::int64_t>(static_cast<std::uint64_t>(a.base) - static_cast<std::uint64_t>(b.base)),
                  {}};
  for (std::size_t i = 0; i < kCoordinates; ++i) difference.steps[i] = a.steps[i] - b.steps[i];
  return is_multiple(difference, std::int64_t{1} << 32);
}

std::optional<Range> range_of(const Form& form, const Box& box) {
  Int128 least = form.base, most = form.base;
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    const Int128 low = Int128{form.steps[i]} * box.low[i], high = Int128{form.steps[i]} * box.high[i];
    if (!fits(low) || !fits(high)) return std::nullopt;
    least += std::min(low, high);
    most += std::max(low, high);
  }
  if (!fits(least) || !fits(most)) return std::nullopt;
  return Range{static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
}

Form in_box(const Form& form, const Box& box) {
  Form out = form;
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    const Int128 base = out.base + Int128{out.steps[i]} * box.low[i];
    if (box.low[i] != box.high[i] || !fits(base)) continue;
    out.base = static_cast<std::int64_t>(base);
    out.steps[i] = 0;
  }
  return out;
}

// Cuts along the coordinate over which the form varies most. Near one end, the form is below the limit for all values
// of the other coordinates. Near the other end, it is below the limit for none of them. The few slices in between are
// cut along other coordinates.
bool cut(const Box& box, const Cut& where, std::size_t most, std::vector<Box>& out) {
  const auto all = range_of(where.form, box);
  if (!all || out.size() >= most) return false;
  if (all->most < where.at || all->least >= where.at) {
    out.push_back(box);
    return true;
  }
  std::size_t axis = 0;
  std::int64_t widest = -1;
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    const std::int64_t span = std::abs(where.form.steps[i]) * (box.high[i] - box.low[i]);
    if (span > widest) widest = span, axis = i;
  }
  Form rest = where.form;
  const std::int64_t step = std::exchange(rest.steps[axis], 0);
  const auto others = range_of(rest, box);
  if (!others) return false;
  // Slices are counted from the end where the form is smallest. Up to slice `less`, the form is below the limit for all
  // threads. From slice `not_less` on, the form is below the limit for no thread.
  const std::int64_t size = std::abs(step), extent = box.high[axis] - box.low[axis];
  const std::int64_t begin = step > 0 ? step * box.low[axis] : step * box.high[axis];
  const std::int64_t less = divided_down(where.at - 1 - others->most - begin, size);
  const std::int64_t not_less = -divided_down(-(where.at - others->least - begin), size);
  const auto part = [&](std::int64_t first, std::int64_t last) {
    Box piece = box;
    piece.low[axis] = static_cast<std::uint32_t>(step > 0 ? box.low[axis] + first : box.high[axis] - last);
    piece.high[axis] = static_cast<std::uint32_t>(step > 0 ? box.low[axis] + last : box.high[axis] - first);
    return piece;
  };
  const std::int64_t end_of_less = std::clamp<std::int64_t>(less, -1, extent);
  const std::int64_t begin_of_others = std::clamp<std::int64_t>(not_less, end_of_less + 1, extent + 1);
  if (end_of_less >= 0) out.push_back(part(0, end_of_less));
  for (std::int64_t each = end_of_less + 1; each < begin_of_others; ++each) {
    if (!cut(part(each, each), where, most, out)) return false;
  }
  if (begin_of_others <= extent) out.push_back(part(begin_of_others, extent));
  return out.size() <= most;
}

// Simplifies the lattice. A level without gaps becomes part of the width. A level that continues a smaller level is
// merged into the smaller one.
void Lattices::fold(Lattice& lattice) {
  auto& levels = lattice.levels;
  std::erase_if(levels, [](const Level& level) { return level.count <= 1; });
  std::ranges::sort(levels, {}, &Level::step);
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
  std::ranges::sort(all, {}, &Lattice::begin);
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
  std::ranges::sort(all, {}, &Lattice::begin);
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
    const auto few = std::ranges::min_element(levels, {}, &Level::count);
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
