#include "sass/threads/forms.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace cudadiag::sass {
namespace {

__extension__ using Int128 = __int128;

bool fits(Int128 value) { return value >= -kMostOfForm && value <= kMostOfForm; }

std::int64_t divided_down(std::int64_t value, std::int64_t by) {
  const std::int64_t quotient = value / by;
  return value % by < 0 ? quotient - 1 : quotient;
}

}  // namespace

bool Form::is_constant() const {
  return std::all_of(steps.begin(), steps.end(), [](std::int64_t step) { return step == 0; });
}

Form constant(std::int64_t value) { return {value, {}}; }

Form coordinate(std::size_t which) {
  Form form;
  form.steps[which] = 1;
  return form;
}

std::optional<Form> sum(const Form& a, const Form& b) {
  Form out{a.base + b.base, {}};
  bool fit = fits(out.base);
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    out.steps[i] = a.steps[i] + b.steps[i];
    fit &= fits(out.steps[i]);
  }
  return fit ? std::optional(out) : std::nullopt;
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

bool is_multiple(const Form& a, std::int64_t of) {
  return a.base % of == 0 &&
         std::all_of(a.steps.begin(), a.steps.end(), [of](std::int64_t step) { return step % of == 0; });
}

bool same_low_word(const Form& a, const Form& b) {
  Form difference{a.base - b.base, {}};
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

}  // namespace cudadiag::sass
