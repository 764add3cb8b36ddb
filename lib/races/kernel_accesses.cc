#include "races/kernel_accesses.h"

#include <algorithm>
#include <map>

namespace cudadiag::races {
namespace {

// The words that belong together: one that is read for itself, or an array up to where the next array begins.
struct Unit {
  std::uint32_t begin = 0;
  bool array = false;
  auto operator<=>(const Unit&) const = default;
};

}  // namespace

Mode KernelAccesses::mode(std::uint32_t parameter, const LiveWords& live) const {
  if (!known) return Mode::unknown;
  std::set<std::uint32_t> arrays, singles;
  for (const CodeAccess& access : accesses) {
    for (const Origin& origin : access.origins) (origin.indexed ? arrays : singles).insert(origin.offset);
  }
  const auto unit_of = [&](std::uint32_t offset) -> Unit {
    const auto behind = arrays.upper_bound(offset);
    if (singles.contains(offset) || behind == arrays.begin()) return {offset, false};
    return {*std::prev(behind), true};
  };
  // By unit: all that words of it may stand for.
  std::map<Unit, Unit> standing_for;
  for (const LiveWord& word : live) standing_for.try_emplace(unit_of(word.offset), unit_of(word.same));
  const auto stands_for = [&](const Unit& unit) {
    const auto at = standing_for.find(unit);
    return at == standing_for.end() || unit.array || at->second.array ? unit : at->second;
  };
  const Unit wanted = stands_for(unit_of(parameter));
  bool reads = false, writes = false, adds = false, may_alter = false;
  for (const CodeAccess& access : accesses) {
    std::set<Unit> made_of;
    for (const Origin& origin : access.origins) {
      const Unit unit{origin.offset, origin.indexed};
      if (live.empty() || standing_for.contains(unit)) made_of.insert(stands_for(unit));
    }
    if (!access.anywhere && !made_of.contains(wanted)) continue;
    if (access.anywhere || made_of.size() > 1) {
      may_alter |= access.mode != Mode::read;
      reads = true;
      continue;
    }
    reads |= access.mode == Mode::read;
    writes |= access.mode == Mode::write;
    adds |= access.mode == Mode::atomic;
    may_alter |= access.mode == Mode::unknown;
  }
  if (writes || (adds && reads)) return Mode::write;
  if (may_alter) return Mode::unknown;
  return adds ? Mode::atomic : reads ? Mode::read : Mode::none;
}

}  // namespace cudadiag::races
