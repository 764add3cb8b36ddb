#include "sass/origins.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cudadiag::sass {
namespace {

using namespace origin;

OriginSets::Set sorted(OriginSets::Set set) {
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

}  // namespace

OriginSets::Id OriginSets::number(Set set) {
  const auto known = ids_.find(set);
  if (known != ids_.end()) return known->second;
  if (sets_.size() >= 60000) {
    full_ = true;
    return 0;
  }
  const auto added = ids_.emplace(std::move(set), static_cast<Id>(sets_.size())).first;
  sets_.push_back(&added->first);
  return added->second;
}

OriginSets::Id OriginSets::join(Id a, Id b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);
  const bool numbers = are_numbers(b);
  if (a == 0) return numbers ? 0 : uncertain(b);
  if (numbers != are_numbers(a)) return uncertain(numbers ? a : b);
  const std::uint32_t key = std::uint32_t{a} << 16 | b;
  const auto known = joined_.find(key);
  if (known != joined_.end()) return known->second;
  Set both;
  std::set_union(of(a).begin(), of(a).end(), of(b).begin(), of(b).end(), std::back_inserter(both));
  if (both.size() > kMostNumbers && numbers) both.clear();
  std::erase_if(both, [&](std::uint32_t each) { return is_certain(each) && (!has(a, each) || !has(b, each)); });
  return joined_[key] = number(bounded(std::move(both)));
}

OriginSets::Id OriginSets::uncertain(Id id) {
  Set out = of(id);
  return std::erase_if(out, is_certain) == 0 ? id : number(std::move(out));
}

OriginSets::Id OriginSets::together(Id a, Id b, Lead lead) {
  const Id joined = uncertain(join(a, b));
  if (lead != Lead::away && lead != Lead::back) return joined;
  Set out = of(are_numbers(joined) ? 0 : joined);
  out.push_back(lead == Lead::away ? kAddend : kBefore);
  return number(sorted(std::move(out)));
}

// Only a word at a multiple of 8 can be an address, so other words stay unchanged.
OriginSets::Id OriginSets::led(Id id, Lead lead) {
  if (lead == Lead::nowhere || lead == Lead::down) return id;
  Set out = of(id);
  for (std::uint32_t& each : out) {
    if (!is_word(each) || value_of(each) % 8 != 0 || (each & kShifted) != 0) continue;
    const bool shifted = lead == Lead::away || (lead == Lead::back && (each & kMoved) == 0);
    each = shifted ? (each & ~kMoved) | kShifted : each | kMoved;
  }
  return out == of(id) ? id : number(sorted(std::move(out)));
}

bool OriginSets::has(Id id, std::uint32_t origin) const {
  return std::binary_search(of(id).begin(), of(id).end(), origin);
}

OriginSets::Id OriginSets::marks(Id id) {
  Set out = of(id);
  std::erase_if(out, [](std::uint32_t each) { return !is_mark(each); });
  return number(std::move(out));
}

OriginSets::Id OriginSets::without_marks(Id id) {
  Set out = of(id);
  std::erase_if(out, is_mark);
  return number(std::move(out));
}

// Limits the places in a set. Without a limit, a loop that adds to a place would create new places forever.
OriginSets::Set OriginSets::bounded(Set set) {
  const auto places = static_cast<std::size_t>(std::count_if(set.begin(), set.end(), is_place));
  const bool anywhere = !set.empty() && set.back() == kTop;
  if (places == 0 || (!anywhere && places <= kMostPlaces)) return set;
  std::erase_if(set, is_place);
  if (!anywhere) set.push_back(kTop);
  return set;
}

OriginSets::Id OriginSets::blurred(Id id) {
  const Set& set = of(id);
  if (std::none_of(set.begin(), set.end(), [](std::uint32_t each) { return is_number(each) || is_place(each); })) {
    return id;
  }
  Set out;
  for (const std::uint32_t each : set) {
    if (!is_number(each)) out.push_back(is_place(each) ? each | kIndexed : each);
  }
  return number(sorted(std::move(out)));
}

OriginSets::Id OriginSets::sum(Id a, Id b) {
  const std::uint32_t key = std::uint32_t{a} << 16 | b;
  const auto known = sums_.find(key);
  if (known != sums_.end()) return known->second;
  return sums_[key] = uncertain(join(moved(a, b), moved(b, a)));
}

// Adds the numbers in `by` to the places. If `by` contains anything else, returns blurred(places).
OriginSets::Id OriginSets::moved(Id places, Id by) {
  if (!are_numbers(by)) return blurred(places);
  Set out;
  for (const std::uint32_t each : of(places)) {
    if (!is_place(each)) {
      if (!is_number(each)) out.push_back(each);
      continue;
    }
    for (const std::uint32_t step : of(by)) out.push_back((each & ~kValue) | ((each + step) & kValue));
  }
  return number(sorted(std::move(out)));
}

}  // namespace cudadiag::sass
