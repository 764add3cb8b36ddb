// Reads operands and computes with forms.
#include "sass/evaluator.h"

namespace cudadiag::sass {
namespace {

constexpr std::int64_t kSign = std::int64_t{1} << 31;
constexpr std::int64_t kMostPieces = 64;  // limits the pieces into which one instruction cuts a box

}  // namespace

std::optional<std::size_t> axis_of(std::string_view special) {
  const bool thread = special.starts_with("SR_TID."), block = special.starts_with("SR_CTAID.");
  const std::size_t axis = special.empty() ? 3 : static_cast<std::size_t>(special.back() - 'X');
  if ((!thread && !block) || axis > 2) return std::nullopt;
  return axis + (block ? 3 : 0);
}

// ---- forms

std::optional<bool> Evaluator::less(const Form& form, std::int64_t than) {
  const auto range = range_of(form, box_);
  if (!range) return std::nullopt;
  if (range->most < than) return true;
  if (range->least >= than) return false;
  if (!cut_) cut_ = Cut{form, than};
  return std::nullopt;
}

// Shifts right and rounds down.
std::optional<std::int64_t> Evaluator::quotient(const Form& form, unsigned shift) {
  const auto range = range_of(form, box_);
  if (!range) return std::nullopt;
  const std::int64_t least = range->least >> shift, most = range->most >> shift;
  if (least == most) return least;
  if (most - least >= kMostPieces) return std::nullopt;
  if (!cut_) cut_ = Cut{form, (least + (most - least + 1) / 2) * (std::int64_t{1} << shift)};
  return std::nullopt;
}

std::optional<Form> Evaluator::with_sign(const Form& number) {
  const auto positive = less(number, kSign);
  if (!positive) return std::nullopt;
  return *positive ? std::optional(number) : sum(number, constant(-kWord));
}

std::optional<Form> Evaluator::as_read_by(const Instruction& i, const Form& number) {
  return i.has<"U32">() ? std::optional(number) : with_sign(number);
}

// Returns the lower 32 bits of the form.
Value Evaluator::word(const Form& form) {
  const auto above = quotient(form, 32);
  const auto low = above ? sum(form, constant(-*above * kWord)) : std::nullopt;
  return low ? Value{Value::Kind::number, 0, in_box(*low, box_)} : Value{};
}

std::optional<std::int64_t> Evaluator::number(const Value& value) const {
  if (!is_number(value)) return std::nullopt;
  const Form form = in_box(value.form, box_);
  return form.is_constant() ? std::optional(form.base) : std::nullopt;
}

std::optional<Form> Evaluator::form_of(const Operand& operand) {
  const Value value = read(operand);
  return is_number(value) ? std::optional(in_box(value.form, box_)) : std::nullopt;
}

// ---- operands

// Does not apply the operand's sign.
Value Evaluator::read(const Operand& operand, std::uint32_t half) {
  if (operand.part) return {};
  switch (operand.kind) {
    case Operand::Kind::number:
      return half < 2 && operand.number[half] ? number_of(*operand.number[half]) : Value();
    case Operand::Kind::slot:
      return inputs_.word(operand.slot + half);
    case Operand::Kind::bank: {
      if (operand.slot == kNone) return inputs_.bank(operand.offset + 4 * half);
      const auto index = number(inputs_.word(operand.slot));
      return index ? inputs_.bank(static_cast<std::uint32_t>(operand.offset + *index) + 4 * half) : Value();
    }
    case Operand::Kind::variable:
      return inputs_.variable(operand.offset + 4 * half);
    default:
      return {};
  }
}

// Returns a half of an address as a number, if its value is available. The position relative to the address is lost.
Value Evaluator::as_number(const Value& value) {
  if (value.kind != Value::Kind::low && value.kind != Value::Kind::high) return value;
  const std::uint64_t base = inputs_.base_of(value.word);
  if (base == 0 || base > static_cast<std::uint64_t>(kMostOfForm)) return {};
  const auto all = sum(value.form, constant(static_cast<std::int64_t>(base)));
  if (!all) return {};
  if (value.kind == Value::Kind::low) return word(*all);
  const auto above = quotient(*all, 32);
  return above ? number_of(*above & (kWord - 1)) : Value();
}

// Negates a number as 2^32 minus the number, which gives a value from 1 to 2^32.
Value Evaluator::with_sign_of(const Operand& operand, const Value& value) {
  if (operand.is_plain()) return value;
  if (!is_number(value)) return {};
  const auto form = difference(constant(operand.negative ? kWord : kWord - 1), value.form);
  return form ? Value{Value::Kind::number, 0, *form} : Value{};
}

Evaluator::Pair Evaluator::read_pair(const Operand& operand) {
  const Value low = read(operand, 0), high = read(operand, 1);
  Pair out;
  if (operand.complement) return out;
  if (low.kind == Value::Kind::low && high.kind == Value::Kind::high && low.word == high.word &&
      same_low_word(low.form, high.form)) {
    out = {!operand.negative, true, low.word, high.form};
  } else if (is_number(low) && is_number(high)) {
    const auto upper = with_sign(high.form);
    const auto above = upper ? wrapped_product(*upper, kWord) : std::nullopt;
    auto all = above ? wrapped_sum(*above, low.form) : std::nullopt;
    if (all && operand.negative) all = wrapped_product(*all, -1);
    if (all) out = {true, false, 0, *all};
  }
  return out;
}

Evaluator::Pair Evaluator::sum_of(const Pair& a, const Pair& b) {
  const auto form = wrapped_sum(a.form, b.form);
  if (!a.known || !b.known || (a.pointer && b.pointer) || !form) return {};
  return {true, a.pointer || b.pointer, a.pointer ? a.word : b.word, *form};
}

std::optional<Evaluator::Address> Evaluator::address(const Instruction& i) {
  if (!i.readable) return std::nullopt;
  Pair all{true, false, 0, {}};
  for (const AddressTerm& term : i.place) {
    Pair each;
    const bool unsure = term.width == AddressTerm::Width::unsure;
    const bool scaled = term.factor != 1;
    const bool may_be_scaled = i.code->space == Space::shared && term.width == AddressTerm::Width::half;
    if ((scaled && !may_be_scaled) || (unsure && !is_uniform_slot(term.value.slot))) return std::nullopt;
    if (term.width != AddressTerm::Width::half) {
      each = read_pair(term.value);
      // Accept the term only if it has the same value with 64 bits, and with 32 bits with or without a sign.
      const auto range = each.known && !each.pointer && unsure ? range_of(each.form, box_) : std::nullopt;
      if (range && (range->least < 0 || range->most >= kSign)) return std::nullopt;
    } else {
      const Value value = read(term.value);
      const auto form = is_number(value) ? times(value.form, term.factor) : std::nullopt;
      each = {form.has_value(), false, 0, form.value_or(Form())};
    }
    all = sum_of(all, each);
  }
  if (!all.known) return std::nullopt;
  return Address{all.pointer ? std::optional(all.word) : std::nullopt, in_box(all.form, box_)};
}

std::optional<bool> Evaluator::holds(const Condition& condition) {
  if (condition.slot == kNone) return !condition.negated;
  const auto known = inputs_.truth(condition.slot).known();
  return known ? std::optional(*known != condition.negated) : known;
}

// ---- results

void Evaluator::set(Slot slot, const Value& value) {
  if (slot != kNone && slot < kStack) values_.emplace_back(slot, value);
}

void Evaluator::set(const Condition& predicate, const Truth& truth) {
  if (predicate.slot != kNone && !predicate.negated) truths_.emplace_back(predicate.slot, truth);
}

void Evaluator::set_pair(Slot slot, const Pair& pair) {
  Value low, high;
  if (pair.known && pair.pointer) {
    low = {Value::Kind::low, pair.word, pair.form};
    high = {Value::Kind::high, pair.word, pair.form};
  } else if (pair.known && pair.form.is_constant()) {
    low = number_of(pair.form.base & (kWord - 1));
    high = number_of(pair.form.base >> 32 & (kWord - 1));
  } else if (pair.known) {
    low = word(pair.form);
    const auto above = quotient(pair.form, 32);
    if (above) high = number_of(*above & (kWord - 1));
  }
  set(slot, low);
  set(slot == kNone ? kNone : slot + 1, high);
}

// A carry that is 0 for all threads, or 1 for all, becomes a truth value. If two predicates receive carries, they share
// the sum of both.
void Evaluator::set_sum(const Instruction& i, const Sum& sum, std::uint32_t at) {
  std::vector<Condition> named;
  for (const Condition& carry : i.carries) {
    if (carry.slot != kNone && !carry.negated) named.push_back(carry);
  }
  Truth truth = sum.carry;
  if (named.size() == 2) {
    truth.shared = truth.kind == Truth::Kind::unknown ? 0 : at + 1;
  } else if (truth.kind == Truth::Kind::number) {
    truth = truth.form.base == 0 || truth.form.base == 1 ? truth_of(truth.form.base == 1) : Truth();
  } else if (truth.kind == Truth::Kind::carry) {
    const auto range = range_of(truth.more, box_);
    if (!range || range->most > kWord) truth = {};
  }
  set(i.to(), sum.value);
  for (const Condition& carry : named) set(carry, truth);
}

// ---- sums

Evaluator::Carries Evaluator::carries_of(Conditions conditions) {
  Carries out{.known = true};
  std::uint32_t shared = 0;
  for (const Condition& condition : conditions) {
    if (const auto known = holds(condition)) {
      out.number += *known ? 1 : 0;
      continue;
    }
    const Truth truth = inputs_.truth(condition.slot);
    if (truth.kind == Truth::Kind::unknown || condition.negated) return {};
    if (truth.shared != 0) {
      // The first predicate of the pair already added the carries of both.
      if (shared == truth.shared) {
        shared = 0;
        continue;
      }
      if (shared != 0) return {};
      shared = truth.shared;
    }
    if (truth.kind == Truth::Kind::number) out.number += truth.form.base;
    if (truth.kind == Truth::Kind::carry) {
      if (out.of_pointer) return {};
      out.of_pointer = truth;
    }
  }
  if (shared != 0) return {};
  return out;
}

// Adds 32-bit values and the carries.
Evaluator::Sum Evaluator::added(Values values, Conditions conditions) {
  const Carries carries = carries_of(conditions);
  std::optional<Form> total = constant(carries.number);
  const Value* pointer = nullptr;
  if (!carries.known) return {};
  for (const Value& value : values) {
    if (value.kind == Value::Kind::unknown) return {};
    if (!is_number(value)) {
      if (pointer != nullptr) return {};
      pointer = &value;
    } else if (total) {
      total = sum(*total, value.form);
    }
  }
  if (!total) return {};
  if (pointer != nullptr)
    return added_to_pointer(*pointer, *total, carries.of_pointer ? &*carries.of_pointer : nullptr);
  if (carries.of_pointer) return {};
  const auto above = quotient(*total, 32);
  if (!above) return {};
  return {word(*total), {Truth::Kind::number, 0, 0, constant(*above), {}}};
}

Evaluator::Sum Evaluator::added_to_pointer(const Value& pointer, const Form& rest, const Truth* carry) {
  Sum out;
  if (pointer.kind == Value::Kind::low) {
    if (carry != nullptr) return {};
    const auto form = sum(pointer.form, rest);
    const auto range = range_of(rest, box_);
    if (form) out.value = {Value::Kind::low, pointer.word, in_box(*form, box_)};
    if (range && range->least >= 0 && range->most <= 2 * kWord) {
      out.carry = {Truth::Kind::carry, pointer.word, 0, pointer.form, rest};
    }
    return out;
  }
  if (carry != nullptr && (carry->word != pointer.word || !same_low_word(carry->form, pointer.form))) return {};
  // Read `rest` as a signed number, because numbers added to an upper half are small.
  const auto shifted = sum(rest, constant(kSign));
  const auto above = shifted ? quotient(*shifted, 32) : std::nullopt;
  const auto small = above ? sum(rest, constant(-*above * kWord)) : std::nullopt;
  const auto upper = small ? times(*small, kWord) : std::nullopt;
  auto form = upper ? sum(pointer.form, *upper) : std::nullopt;
  if (form && carry != nullptr) form = sum(*form, carry->more);
  if (form) out.value = {Value::Kind::high, pointer.word, in_box(*form, box_)};
  return out;
}

}  // namespace cudadiag::sass
