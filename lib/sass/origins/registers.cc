#include "sass/origins/registers.h"

#include <bit>
#include <utility>

namespace cudadiag::sass {

std::uint32_t condition_number(const Condition& condition) {
  const bool uniform = condition.slot >= kFirstUniformPredicate;
  const std::uint32_t index = condition.slot - (uniform ? kFirstUniformPredicate : kFirstPredicate);
  if (condition.slot == kNone || index > 7) return kNone;
  return (uniform ? 16u : 0u) + 2 * index + (condition.negated ? 1u : 0u);
}

OriginSets::Id Registers::get(std::uint32_t at, std::uint32_t predicate) const {
  if (at >= kRegisters) return 0;
  if (predicate != kNone) {
    const auto seen = views_[predicate].find(at);
    if (seen != views_[predicate].end()) return seen->second;
  }
  return held_[at];
}

template <typename Visit>
void Registers::each_view(const Visit& visit) const {
  for (std::uint32_t rest = in_use_; rest != 0; rest &= rest - 1) visit(std::uint32_t(std::countr_zero(rest)));
}

Registers::View& Registers::view(std::uint32_t predicate) {
  in_use_ |= 1u << predicate;
  return views_[predicate];
}

void Registers::forget(std::uint32_t predicate) {
  if ((in_use_ >> predicate & 1) != 0) views_[predicate].clear();
  in_use_ &= ~(1u << predicate);
  known_ &= ~(1u << predicate);
}

void Registers::set(std::uint32_t at, OriginSets::Id value, std::uint32_t predicate) {
  if (at >= kRegisters) return;
  if (predicate != kNone && holds(predicate ^ 1)) return;
  if (predicate == kNone || holds(predicate)) {
    each_view([&](std::uint32_t each) { views_[each].erase(at); });
    held_[at] = value;
    return;
  }
  view(predicate)[at] = value;
  each_view([&](std::uint32_t other) {
    if (other == predicate || other == (predicate ^ 1)) return;
    const auto seen = views_[other].find(at);
    if (seen != views_[other].end()) seen->second = sets_.join(seen->second, value);
  });
  view(predicate ^ 1).try_emplace(at, held_[at]);
  held_[at] = sets_.join(held_[at], value);
}

void Registers::forget_conditions(std::uint32_t predicates) {
  for (std::uint32_t rest = predicates; rest != 0; rest &= rest - 1) {
    const std::uint32_t number = condition_number({kFirstPredicate + std::uint32_t(std::countr_zero(rest))});
    if (number == kNone) continue;
    forget(number);
    forget(number | 1);
  }
}

void Registers::enter(const State& state) {
  forget_conditions();
  held_ = state.held;
  known_ = state.known;
  for (const auto& [key, value] : state.views) view(key >> 16)[key & 0xffff] = value;
}

Registers::State Registers::leave(std::uint32_t holds) const {
  State state{held_, {}, known_};
  if (holds != kNone) {
    state.known |= 1u << holds;
    for (const auto& [at, value] : views_[holds]) state.held[at] = value;
  }
  each_view([&](std::uint32_t predicate) {
    if (holds != kNone && (predicate | 1) == (holds | 1)) return;
    for (const auto& [at, value] : views_[predicate]) {
      if (value != state.held[at]) state.views[predicate << 16 | at] = value;
    }
  });
  return state;
}

// If a condition is false at the end of one path, the values that registers have under this condition come from the
// other path.
bool Registers::join(State& state, const State& more) const {
  constexpr std::uint32_t kEven = 0x55555555;
  const auto opposite = [](std::uint32_t bits) { return (bits & kEven) << 1 | (bits >> 1 & kEven); };
  const std::uint32_t not_here = opposite(state.known), not_there = opposite(more.known);
  Held held = state.held;
  std::vector<std::uint32_t> apart;
  for (std::uint32_t at = 0; at < held.size(); ++at) {
    if (held[at] == more.held[at]) continue;
    apart.push_back(at);
    held[at] = sets_.join(held[at], more.held[at]);
  }
  const auto look = [](const State& in, std::uint32_t key) {
    const auto view = in.views.find(key);
    return view != in.views.end() ? view->second : in.held[key & 0xffff];
  };
  std::map<std::uint32_t, Id> views;
  const auto meet = [&](std::uint32_t key) {
    const bool here = (not_here >> (key >> 16) & 1) == 0, there = (not_there >> (key >> 16) & 1) == 0;
    if (!here && !there) return;
    const Id value = !there  ? look(state, key)
                     : !here ? look(more, key)
                             : sets_.join(look(state, key), look(more, key));
    if (value != held[key & 0xffff]) views[key] = value;
  };
  for (const auto& [key, value] : state.views) meet(key);
  for (const auto& [key, value] : more.views) meet(key);
  for (std::uint32_t rest = not_here ^ not_there; rest != 0; rest &= rest - 1) {
    const std::uint32_t predicate = std::uint32_t(std::countr_zero(rest)) << 16;
    for (const std::uint32_t at : apart) meet(predicate | at);
  }
  if (views.size() > kMostViews) views.clear();
  const std::uint32_t known = state.known & more.known;
  const bool changed = held != state.held || views != state.views || known != state.known;
  state = {held, std::move(views), known};
  return changed;
}

}  // namespace cudadiag::sass
