#include "sass/origins.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace cudadiag::sass {

namespace {

using namespace origin;

OriginSets::Set sorted(OriginSets::Set set) {
  std::ranges::sort(set);
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

OriginSets::Id OriginSets::either(Id a, Id b) {
  const Id joined = join(a, b);
  const bool one_has_none = (a == 0) != (b == 0);
  if (!one_has_none || has(joined, kOther) || std::ranges::none_of(of(joined), is_word)) return joined;
  Set out = of(joined);
  out.push_back(kOther);
  return number(sorted(std::move(out)));
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

bool OriginSets::has(Id id, std::uint32_t origin) const { return std::ranges::binary_search(of(id), origin); }

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
  const auto places = static_cast<std::size_t>(std::ranges::count_if(set, is_place));
  const bool anywhere = !set.empty() && set.back() == kTop;
  if (places == 0 || (!anywhere && places <= kMostPlaces)) return set;
  std::erase_if(set, is_place);
  if (!anywhere) set.push_back(kTop);
  return set;
}

OriginSets::Id OriginSets::blurred(Id id) {
  const Set& set = of(id);
  if (std::ranges::none_of(set, [](std::uint32_t each) { return is_number(each) || is_place(each); })) {
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
    if (seen != views_[other].end()) seen->second = sets_.either(seen->second, value);
  });
  view(predicate ^ 1).try_emplace(at, held_[at]);
  held_[at] = sets_.either(held_[at], value);
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
    held[at] = sets_.either(held[at], more.held[at]);
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
                             : sets_.either(look(state, key), look(more, key));
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

// ---- the walk

namespace {

constexpr std::size_t kMostSteps = 4'000'000;  // including repeated visits; instructions are visited until nothing
                                               // changes

// Follows all paths through the code, until the origins of registers and memory no longer change.
class Walk {
 public:
  Walk(const Program& program, Instructions& instructions, OriginSets& sets)
      : program_(program), instructions_(instructions), sets_(sets), state_(sets) {}

  bool run() {
    entries_[0] = {};
    open_.insert(0);
    // Repeat until no visit stores anything new in shared or local memory.
    for (bool again = true; again;) {
      const std::uint32_t before = instructions_.memory_version();
      while (!open_.empty()) {
        if (!block(open_.extract(open_.begin()).value())) return false;
      }
      again = instructions_.memory_version() != before;
      for (const auto& [block, held] : entries_) {
        if (again) open_.insert(block);
      }
    }
    // Record accesses only now, because the origins of all addresses are complete.
    instructions_.begin_noting();
    for (const auto& [begin, held] : entries_) pass(begin);
    return true;
  }

 private:
  struct Returned {
    Registers::Held held{};
    const std::vector<std::uint32_t>* altered = nullptr;
  };

  // Executes the basic block that begins at `at`. Returns its last instruction.
  std::uint32_t pass(std::uint32_t at) {
    state_.enter(entries_[at]);
    for (;; ++at) {
      ++steps_;
      instructions_.step(at, state_);
      if (!program_.falls_through(at)) return at;
    }
  }

  bool block(std::uint32_t begin) {
    const std::uint32_t last = pass(begin);
    const Instruction& end = program_[last];
    // The called function may have recomputed any condition.
    if (end.op == Op::call) state_.forget_conditions();
    for (const std::uint32_t to : program_.next(last)) arrive(to, state_.leave(known_at(end, to == last + 1)));
    for (const Program::Return& back : program_.returns(last)) {
      Returned& returned = returned_[back.to];
      returned.altered = back.altered;
      for (const std::uint32_t each : *back.altered) {
        returned.held[each] = sets_.either(returned.held[each], state_.held()[each]);
      }
      bring_back(back.to);
    }
    return steps_ <= kMostSteps && !sets_.full();
  }

  // Returns the condition that is true after a branch or exit: at the next instruction if `behind` is true, otherwise
  // at the target.
  static std::uint32_t known_at(const Instruction& end, bool behind) {
    const std::uint32_t predicate = condition_number(end.condition);
    // "@P0 EXIT P1" depends on two conditions.
    const bool plain =
        (end.opcode == "EXIT" && end.operands.empty()) || (end.opcode == "BRA" && end.operands.size() == 1);
    if (!plain || predicate == kNone) return kNone;
    return behind ? predicate ^ 1 : predicate;
  }

  void arrive(std::uint32_t block, Registers::State state) {
    const auto known = entries_.find(block);
    if (known != entries_.end()) {
      if (state_.join(known->second, state)) open_.insert(block);
      return;
    }
    entries_.emplace(block, std::move(state));
    open_.insert(block);
    bring_back(block);
  }

  // Merges the registers that a function alters into the state after its return. The other registers come from the
  // call, so the call must have been visited.
  void bring_back(std::uint32_t block) {
    const auto entry = entries_.find(block);
    const auto returned = returned_.find(block);
    if (entry == entries_.end() || returned == returned_.end()) return;
    for (const std::uint32_t each : *returned->second.altered) {
      OriginSets::Id& held = entry->second.held[each];
      const OriginSets::Id joined = sets_.either(held, returned->second.held[each]);
      if (joined != held) open_.insert(block);
      held = joined;
    }
  }

  const Program& program_;
  Instructions& instructions_;
  OriginSets& sets_;
  Registers state_;
  std::map<std::uint32_t, Registers::State> entries_;  // at the beginning of each basic block
  std::map<std::uint32_t, Returned> returned_;         // from called functions, keyed by the block after the call
  std::set<std::uint32_t> open_;                       // lowest first, so that earlier blocks are mostly known
  std::size_t steps_ = 0;
};

}  // namespace

bool walk(const Program& program, Instructions& instructions, OriginSets& sets) {
  return Walk(program, instructions, sets).run();
}

KernelAccesses read_sass(std::string_view text, ParameterBank bank, Calls calls, ZeroWords zeros) {
  const Program program(text);
  OriginSets sets;
  Instructions instructions(program, bank, calls, zeros, sets);
  if (program.empty() || !walk(program, instructions, sets)) return {};
  return {true, instructions.accesses(), {}};
}

}  // namespace cudadiag::sass
