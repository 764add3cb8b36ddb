#include "sass/kernel_accesses.h"

#include <algorithm>
#include <map>

namespace cudadiag::sass {
namespace {

// A single parameter word, or an array of parameter words. An array extends to where the next array begins.
struct Unit {
  std::uint32_t begin = 0;
  bool array = false;
  auto operator<=>(const Unit&) const = default;
};

// Returns the array that contains the word, even if the code also reads the word by itself; an empty unit if no array
// does. An array does not extend past the parameter in which it begins.
Unit array_around(const std::set<std::uint32_t>& arrays, std::uint32_t word,
                  const std::vector<std::uint32_t>& parameters) {
  const auto behind = arrays.upper_bound(word);
  if (behind == arrays.begin()) return {};
  const std::uint32_t begin = *std::prev(behind);
  const auto next = std::ranges::upper_bound(parameters, begin);
  const bool inside = begin == word || (!parameters.empty() && (next == parameters.end() || word < *next));
  return inside ? Unit{begin, true} : Unit{};
}

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
  // Maps each word or array to the first word or array that may hold the same address.
  std::map<Unit, Unit> standing_for;
  for (const LiveWord& word : live) standing_for.try_emplace(unit_of(word.offset), unit_of(word.same));
  const auto stands_for = [&](const Unit& unit) {
    const auto at = standing_for.find(unit);
    return at == standing_for.end() || unit.array || at->second.array ? unit : at->second;
  };
  const Unit wanted = stands_for(unit_of(parameter));
  const Unit around = array_around(arrays, parameter, parameters);
  bool reads = false, writes = false, adds = false, may_alter = false, reads_near = false, alters_near = false;
  for (const CodeAccess& access : accesses) {
    std::set<Unit> made_of;
    bool chosen = false, shifted = true;
    for (const Origin& origin : access.origins) {
      const Unit unit{origin.offset, origin.indexed};
      const bool is_around = around.array && unit == around;
      if (live.empty() || standing_for.contains(unit) || is_around) made_of.insert(stands_for(unit));
      chosen |= origin.chosen || (is_around && unit != wanted);
      if (is_around || stands_for(unit) == wanted) shifted &= origin.shifted;
    }
    const bool may_mean_it = made_of.contains(wanted) || (around.array && made_of.contains(around));
    if (!access.anywhere && !may_mean_it) continue;
    if (!access.anywhere && shifted) {
      (access.mode == Mode::read ? reads_near : alters_near) = true;
      continue;
    }
    if (access.anywhere || made_of.size() > 1 || chosen) {
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
  if (adds) return Mode::atomic;
  if (reads) return Mode::read;
  return alters_near ? Mode::near_write : reads_near ? Mode::near_read : Mode::none;
}

}  // namespace cudadiag::sass
