#include "races/sass_registers.h"

#include <bit>

namespace cudadiag::races {

std::uint32_t predicate_of(std::string_view name) {
  const bool negated = name.starts_with('!');
  if (negated) name.remove_prefix(1);
  const bool uniform = name.starts_with('U');
  if (uniform) name.remove_prefix(1);
  if (name.size() != 2 || name[0] != 'P' || name[1] < '0' || name[1] > '7') return kNone;
  return (uniform ? 16u : 0u) + (static_cast<std::uint32_t>(name[1] - '0') << 1) + (negated ? 1u : 0u);
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
void Registers::each_view(const Visit& visit) {
  for (std::uint32_t rest = in_use_; rest != 0; rest &= rest - 1) visit(std::uint32_t(std::countr_zero(rest)));
}

Registers::View& Registers::view(std::uint32_t predicate) {
  in_use_ |= 1u << predicate;
  return views_[predicate];
}

void Registers::forget(std::uint32_t predicate) {
  if ((in_use_ >> predicate & 1) != 0) views_[predicate].clear();
  in_use_ &= ~(1u << predicate);
}

void Registers::set(std::uint32_t at, OriginSets::Id value, std::uint32_t predicate) {
  if (at >= kRegisters) return;
  if (predicate == kNone) {
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

void Registers::forget_condition(std::string_view name) {
  const std::uint32_t predicate = predicate_of(name.starts_with('!') ? name.substr(1) : name);
  if (predicate == kNone) return;
  forget(predicate);
  forget(predicate | 1);
}

void Registers::enter(const Held& held) {
  held_ = held;
  each_view([&](std::uint32_t each) { views_[each].clear(); });
  in_use_ = 0;
}

bool Registers::join_into(Held& held) const {
  bool changed = false;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i] == held_[i]) continue;
    const OriginSets::Id joined = sets_.join(held[i], held_[i]);
    changed |= joined != held[i];
    held[i] = joined;
  }
  return changed;
}

}  // namespace cudadiag::races
