#include "sass/earlier_values.h"

#include <algorithm>

namespace cudadiag::sass {
namespace {

constexpr int kDeepest = 100;  // limits the recursion through values computed from other values
constexpr std::size_t kMostSums = 20'000;
constexpr std::uint32_t kLeastUpperHalf = 0x1000;  // upper halves of 64-bit offsets are less than this, or negative

template <typename Result>
Result result_in(const std::vector<std::pair<Slot, Result>>& results, Slot slot) {
  for (const auto& [its, result] : results) {
    if (its == slot) return result;
  }
  return {};
}

}  // namespace

// The values just before a moment.
class EarlierValues::InputsBefore : public Inputs {
 public:
  InputsBefore(EarlierValues& values, Moment moment) : values_(values), moment_(moment) {}

  Value word(Slot slot) override {
    const auto known = values_.value(slot, moment_);
    return known ? number_of(*known) : Value();
  }
  Truth truth(Slot slot) override {
    const auto known = values_.value(slot, moment_);
    return known ? truth_of(*known != 0) : Truth();
  }
  Value bank(std::uint32_t offset) override { return values_.constant(offset); }
  Value variable(std::uint32_t offset) override { return values_.variable(offset); }
  Value special(std::string_view name) override { return values_.special(name); }

 private:
  EarlierValues& values_;
  const Moment moment_;
};

// The values before an instruction that ran exactly once after the failing one. `zero` is read as 0.
class EarlierValues::InputsSince : public Inputs {
 public:
  InputsSince(EarlierValues& values, At at, Slot zero) : values_(values), at_(at), zero_(zero) {}

  Value word(Slot slot) override {
    if (slot == zero_) return number_of(0);
    Paths& paths = values_.paths_;
    const auto written = paths.written_once_since(slot, values_.stands_);
    const bool untouched = paths.is_untouched(slot, {paths.failing()}, values_.stands_);
    const auto kept = untouched || (written && *written < at_) ? values_.kept(slot) : std::nullopt;
    return kept ? number_of(*kept) : Value();
  }
  Truth truth(Slot) override { return {}; }
  Value bank(std::uint32_t offset) override { return values_.constant(offset); }
  Value variable(std::uint32_t offset) override { return values_.variable(offset); }
  Value special(std::string_view) override { return {}; }

 private:
  EarlierValues& values_;
  const At at_;
  const Slot zero_;
};

EarlierValues::EarlierValues(Paths& paths, ParameterBank bank, const LaunchState& launch, const LaneState* lane)
    : paths_(paths), program_(paths.program()), bank_(bank), launch_(launch), lane_(lane) {
  if (lane == nullptr) return;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    thread_.low[axis] = thread_.high[axis] = lane->thread[axis];
    thread_.low[axis + 3] = thread_.high[axis + 3] = lane->block[axis];
  }
  for (At at = 0; at < program_.size(); ++at) {
    if (program_[at].address == lane->stands) stands_ = at;
  }
  if (!paths_.can_stand(stands_)) stands_ = kNone;
}

std::optional<std::uint32_t> EarlierValues::kept(Slot slot) const {
  if (lane_ == nullptr) return std::nullopt;
  if (is_predicate_slot(slot)) {
    const bool uniform = is_uniform_slot(slot);
    const auto& bits = uniform ? lane_->uniform_predicates : lane_->predicates;
    const Slot bit = slot - (uniform ? kFirstUniformPredicate : kFirstPredicate);
    return bits ? std::optional((*bits >> bit) & 1) : std::nullopt;
  }
  const bool uniform = is_uniform_slot(slot);
  const auto& registers = uniform ? lane_->uniform_registers : lane_->registers;
  const Slot index = slot - (uniform ? kUniform : 0);
  return slot < kStack && index < registers.size() ? std::optional(registers[index]) : std::nullopt;
}

std::optional<std::uint32_t> EarlierValues::value(Slot slot, Moment moment) {
  if (slot == kNone) return std::nullopt;
  const auto known = values_.find({slot, moment});
  if (known != values_.end()) return known->second;
  if (depth_ >= kDeepest) return std::nullopt;
  values_[{slot, moment}] = std::nullopt;  // a value that depends on itself is unknown
  ++depth_;
  std::optional<std::uint32_t> value;
  const Condition& failing = program_[paths_.failing()].condition;
  if (stands_ != kNone && paths_.is_untouched(slot, moment, stands_)) value = kept(slot);
  // The failing instruction ran, so its condition was true.
  if (!value && slot == failing.slot && paths_.is_untouched_before(slot, moment)) value = failing.negated ? 0 : 1;
  if (!value) value = undone(slot, moment);
  if (!value) value = computed(slot, moment);
  --depth_;
  return values_[{slot, moment}] = value;
}

// Recovers the value that a register had before the failure. Works only if a single instruction has written to the
// register since, and that instruction added a number to it.
std::optional<std::uint32_t> EarlierValues::undone(Slot slot, Moment moment) {
  if (stands_ == kNone || !paths_.is_untouched_before(slot, moment)) return std::nullopt;
  const auto by = paths_.written_once_since(slot, stands_);
  if (!by || *by == paths_.failing()) return std::nullopt;
  const Instruction& i = program_[*by];
  if (i.is_conditional() || i.to() != slot || i.has<"64">() || i.has<"WIDE">() || i.has<"X">()) return std::nullopt;
  const bool adds = i.op == Op::add || (i.op == Op::multiply && i.has<"IADD">() && i.may_pass_address(0));
  const auto is_it = [slot](const Operand& value) { return value.slot == slot; };
  const auto self = std::ranges::find_if(i.values, is_it);
  if (!adds || std::ranges::count_if(i.values, is_it) != 1 || !self->is_plain()) return std::nullopt;
  // With 0 in place of the register, the instruction computes the number that it added.
  InputsSince inputs(*this, *by, slot);
  Evaluator evaluator(thread_, inputs);
  evaluator.evaluate(i, *by);
  const auto rest = evaluator.number(result_in(evaluator.values(), slot));
  const auto now = kept(slot);
  return rest && now ? std::optional(*now - static_cast<std::uint32_t>(*rest)) : std::nullopt;
}

std::optional<EarlierValues::At> EarlierValues::definition(Slot slot, Moment moment) {
  return paths_.definition(slot, moment.at, [&](At each) {
    const auto its = holds(program_[each].condition, paths_.last_before(each, moment));
    return !its ? Paths::Guard::unknown : *its ? Paths::Guard::holds : Paths::Guard::fails;
  });
}

std::optional<std::uint32_t> EarlierValues::computed(Slot slot, Moment moment) {
  const auto by = definition(slot, moment);
  if (!by) return std::nullopt;
  const Instruction& i = program_[*by];
  if (!is_evaluated(i.op) && !is_predicate_slot(slot)) unknown_.insert(i.opcode);
  InputsBefore inputs(*this, paths_.last_before(*by, moment));
  Evaluator evaluator(thread_, inputs);
  evaluator.evaluate(i, *by);
  if (is_predicate_slot(slot)) {
    const auto truth = result_in(evaluator.truths(), slot).known();
    return truth ? std::optional(*truth ? 1u : 0u) : std::nullopt;
  }
  const auto number = evaluator.number(result_in(evaluator.values(), slot));
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

Value EarlierValues::special(std::string_view name) const {
  if (lane_ == nullptr) return {};
  if (const auto axis = axis_of(name)) return number_of(in_box(coordinate(*axis), thread_).base);
  if (name == "SR_LANEID") return number_of(lane_->lane);
  // The index of the block in its cluster; 0 without clusters.
  return name == "SR_CgaCtaId" && !launch_.clusters ? number_of(0) : Value();
}

Value EarlierValues::constant(std::uint32_t offset) const {
  const auto word = word_in_bank({bank_.offset, ~0u}, offset, launch_.parameters, launch_.grid, launch_.block);
  return word ? number_of(*word) : Value();
}

Value EarlierValues::variable(std::uint32_t offset) const {
  const auto word = word_at(launch_.variables, offset);
  return word ? number_of(*word) : Value();
}

std::optional<bool> EarlierValues::holds(const Condition& condition, Moment moment) {
  if (condition.slot == kNone) return !condition.negated;
  const auto known = value(condition.slot, moment);
  return known ? std::optional((*known != 0) != condition.negated) : std::nullopt;
}

// ---- the terms of an address

Base EarlierValues::base(Slot slot, Moment moment) {
  const Sum sum = sum_of(slot, moment);
  if (sum.open || sum.mixed) return {};
  return {true,
          {sum.words.begin(), sum.words.end()},
          sum.others,
          sum.others && !sum.made,
          {sum.through.begin(), sum.through.end()}};
}

const EarlierValues::Sum EarlierValues::kMade{.others = true, .made = true};

EarlierValues::Sum EarlierValues::joined(const Sum& a, const Sum& b) {
  if (a.open || b.open) return a.open ? b : a;
  if (a.mixed || b.mixed || a.words != b.words || a.others != b.others) return {.mixed = true};
  Sum out = a;
  out.made |= b.made;
  out.through.insert(b.through.begin(), b.through.end());
  return out;
}

EarlierValues::Sum EarlierValues::added(const Sum& a, const Sum& b) {
  if (a.mixed || b.mixed) return {.mixed = true};
  // Accepts a loop only if each iteration adds numbers, not parameter words, to the value.
  if (a.open || b.open) {
    const Sum& other = a.open ? b : a;
    return other.words.empty() && !other.others ? Sum{.open = true} : Sum{.mixed = true};
  }
  Sum out = a;
  out.others |= b.others;
  out.made |= b.made;
  out.through.insert(b.through.begin(), b.through.end());
  for (const std::uint32_t each : b.words) {
    if (!out.words.insert(each).second) return {.mixed = true};  // a word that is added twice
  }
  return out;
}

EarlierValues::Sum EarlierValues::sum_of(Slot slot, Moment moment) {
  if (slot == kNone) return {};
  const Key key{slot, moment};
  const auto known = sums_.find(key);
  if (known != sums_.end()) return known->second;
  if (summing_.contains(key)) return {.open = true};
  if (++sums_done_ > kMostSums || summing_.size() > kDeepest) return {.mixed = true};
  summing_.insert(key);
  Sum out{.open = true};
  const auto one = definition(slot, moment);
  const auto all = one ? std::optional(std::vector<At>{*one}) : paths_.definitions(slot, moment.at);
  if (!all) out = {.mixed = true};
  if (all) {
    for (const At by : *all) {
      const Slot to = program_[by].to();
      out = joined(out, sum_made_by(paths_.last_before(by, moment), to == kNone || slot < to ? 4 : slot - to));
    }
  }
  summing_.erase(key);
  // In a loop, `out` may depend on a sum that is not complete yet. Cache `out` only if no other sum is in progress.
  if (summing_.empty()) sums_[key] = out;
  return out;
}

EarlierValues::Sum EarlierValues::sum_of_operand(const Operand& operand, std::uint32_t half, Moment moment) {
  if (operand.kind == Operand::Kind::number) return {};
  Sum out = kMade;
  if (operand.kind == Operand::Kind::bank) {
    const std::uint32_t offset = operand.offset + 4 * half;
    const bool parameter = offset >= bank_.offset && offset - bank_.offset < bank_.size;
    if (operand.slot != kNone) return {.mixed = true};
    out = parameter ? Sum{.words = {offset - bank_.offset}} : Sum{};
  } else if (operand.kind == Operand::Kind::variable) {
    out = {.words = {kOfVariable | (operand.offset + 4 * half)}};
  } else if (operand.slot != kNone) {
    out = sum_of(operand.slot + half, moment);
  }
  // A value that is subtracted or complemented is not a term of the sum.
  if (operand.is_plain() && !operand.part) return out;
  return out.words.empty() && !out.others && !out.mixed ? Sum{} : kMade;
}

EarlierValues::Sum EarlierValues::sum_made_by(Moment moment, std::uint32_t half) {
  const Instruction& i = program_[moment.at];
  const auto of = [&](std::size_t value, std::uint32_t its) -> Sum {
    if (value >= i.values.size()) return {.mixed = true};
    // A large constant may be the upper half of a pointer that the code contains.
    const auto upper = i.has<"X">() ? i.values[value].number[0] : std::nullopt;
    if (upper && std::min(*upper, ~*upper) >= kLeastUpperHalf) return kMade;
    return sum_of_operand(i.values[value], its, moment);
  };
  const std::uint32_t its = i.has<"64">() ? half : 0;
  switch (i.op) {
    case Op::special:
    case Op::shift:
    case Op::halves:
    case Op::extend:
    case Op::integer:
      return {};
    case Op::move:
      return of(0, half);
    case Op::add: {
      Sum sum;
      for (std::size_t value = 0; value < i.values.size(); ++value) sum = added(sum, of(value, its));
      return sum;
    }
    case Op::multiply: {
      const bool once = i.may_pass_address(0) && !i.has<"WIDE">() && !i.has<"HI">();
      return added(once ? of(0, 0) : Sum{}, of(2, i.has<"WIDE">() ? half : 0));
    }
    case Op::scale:
      return added(!i.has<"HI">() && i.may_pass_address(0) ? of(0, 0) : Sum{}, of(1, 0));
    case Op::choose: {
      const auto first = i.conditions.size() == 1 ? holds(i.conditions[0], moment) : std::nullopt;
      return first ? of(*first ? 0 : 1, its) : joined(of(0, its), of(1, its));
    }
    default:
      return i.is_load() ? loaded(i, moment) : kMade;
  }
}

EarlierValues::Sum EarlierValues::loaded(const Instruction& i, Moment moment) {
  Sum out{.others = true};
  for (const AddressTerm& term : i.place) {
    const Sum its = sum_of_operand(term.value, 0, moment);
    out.through.insert(its.words.begin(), its.words.end());
    out.through.insert(its.through.begin(), its.through.end());
  }
  return out;
}

}  // namespace cudadiag::sass
