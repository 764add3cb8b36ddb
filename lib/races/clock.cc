#include "races/clock.h"

#include <algorithm>

namespace cudadiag::races {

Moment Clock::at(Component component) const {
  const auto entry = std::lower_bound(entries_.begin(), entries_.end(), component,
                                      [](const Entry& e, Component wanted) { return e.component < wanted; });
  return entry != entries_.end() && entry->component == component ? entry->moment : 0;
}

void Clock::raise(Component component, Moment to) {
  const auto entry = std::lower_bound(entries_.begin(), entries_.end(), component,
                                      [](const Entry& e, Component wanted) { return e.component < wanted; });
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

}  // namespace cudadiag::races
