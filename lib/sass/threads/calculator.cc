// Reads operands and computes with forms.
#include "sass/threads/calculator.h"

#include <algorithm>
#include <cstring>

#include "sass/code/memory_operands.h"

namespace cudadiag::sass {
namespace {

constexpr std::int64_t kSign = std::int64_t{1} << 31;
constexpr std::int64_t kMostPieces = 64;  // limits the pieces into which one instruction cuts a box

}  // namespace

void ThreadState::forget(const Written& written) {
  if (written.everything) {
    registers.fill({});
    predicates.fill({});
    return;
  }
  for (std::uint32_t bit = 0; bit < predicates.size(); ++bit) {
    if ((written.predicates >> bit & 1) != 0) predicates[bit] = {};
  }
  const auto drop = [this](std::uint32_t first, std::uint32_t count) {
    if (first == kNone) return;
    const std::uint32_t end = first >= kUniform ? kStack : kUniform;
    for (std::uint32_t each = first; each < std::min(first + count, end); ++each) registers[each] = {};
  };
  drop(written.first, written.count);
  drop(written.second, 8);
}

// ---- forms

std::optional<bool> Calculator::less(const Form& form, std::int64_t than) {
  const auto range = range_of(form, box_);
  if (!range) return std::nullopt;
  if (range->most < than) return true;
  if (range->least >= than) return false;
  if (!cut_) cut_ = Cut{form, than};
  return std::nullopt;
}

// Shifts right and rounds down.
std::optional<std::int64_t> Calculator::quotient(const Form& form, unsigned shift) {
  const auto range = range_of(form, box_);
  if (!range) return std::nullopt;
  const std::int64_t least = range->least >> shift, most = range->most >> shift;
  if (least == most) return least;
  if (most - least >= kMostPieces) return std::nullopt;
  if (!cut_) cut_ = Cut{form, (least + (most - least + 1) / 2) * (std::int64_t{1} << shift)};
  return std::nullopt;
}

std::optional<Form> Calculator::with_sign(const Form& number) {
  const auto positive = less(number, kSign);
  if (!positive) return std::nullopt;
  return *positive ? std::optional(number) : sum(number, constant(-kWord));
}

// Returns the lower 32 bits of the form.
Value Calculator::word(const Form& form) {
  const auto above = quotient(form, 32);
  const auto low = above ? sum(form, constant(-*above * kWord)) : std::nullopt;
  return low ? Value{Value::Kind::number, 0, in_box(*low, box_)} : Value{};
}

std::optional<std::int64_t> Calculator::number(const Value& value) const {
  if (value.kind != Value::Kind::number) return std::nullopt;
  const Form form = in_box(value.form, box_);
  return form.is_constant() ? std::optional(form.base) : std::nullopt;
}

std::optional<Form> Calculator::form_of(const Source& source) {
  const Value value = read(source);
  return value.kind == Value::Kind::number ? std::optional(in_box(value.form, box_)) : std::nullopt;
}

// ---- operands

Value Calculator::read_constant(std::uint32_t offset) const {
  if (offset % 4 != 0) return {};
  const auto number = [](std::uint32_t value) { return Value{Value::Kind::number, 0, constant(value)}; };
  const std::uint32_t byte = offset - bank_.offset;
  if (offset >= bank_.offset && byte < bank_.size) {
    const std::uint32_t word = byte & ~7u;
    if (std::binary_search(launch_.addresses.begin(), launch_.addresses.end(), word)) {
      return {byte == word ? Value::Kind::low : Value::Kind::high, word, {}};
    }
    if (launch_.parameters.size() < byte + 4) return {};
    std::uint32_t value = 0;
    std::memcpy(&value, launch_.parameters.data() + byte, sizeof value);
    return number(value);
  }
  const auto size = size_in_bank(bank_.offset, offset);
  if (!size) return {};
  return number((size->of_grid ? launch_.grid : launch_.block)[size->axis]);
}

Value Calculator::read(const Source& source, std::uint32_t half) {
  switch (source.kind) {
    case Source::Kind::number:
      return source.number[half] ? Value{Value::Kind::number, 0, constant(*source.number[half])} : Value{};
    case Source::Kind::slot:
      return source.slot + half < kStack ? state_.registers[source.slot + half] : Value{};
    case Source::Kind::constant: {
      if (source.slot == kNone) return read_constant(source.offset + 4 * half);
      const auto index = source.slot < kStack ? number(state_.registers[source.slot]) : std::nullopt;
      return index ? read_constant(static_cast<std::uint32_t>(source.offset + *index) + 4 * half) : Value{};
    }
    default:
      return {};
  }
}

// Returns a half of an address as a number, if LaunchValues allows it. The position relative to the address is lost.
Value Calculator::as_number(const Value& value) {
  if (value.kind != Value::Kind::low && value.kind != Value::Kind::high) return value;
  const std::uint64_t base = launch_.addresses_are_numbers ? launch_.word(value.word).value_or(0) : 0;
  if (base == 0 || base > static_cast<std::uint64_t>(kMostOfForm)) return {};
  const auto all = sum(value.form, constant(static_cast<std::int64_t>(base)));
  if (!all) return {};
  if (value.kind == Value::Kind::low) return word(*all);
  const auto above = quotient(*all, 32);
  return above ? number_of(*above & (kWord - 1)) : Value();
}

// Negates a number as 2^32 minus the number, which gives a value from 1 to 2^32.
Value Calculator::with_sign_of(const Source& source, const Value& value) {
  if (!source.negative && !source.complement) return value;
  if (value.kind != Value::Kind::number) return {};
  const auto turned = times(value.form, -1);
  const auto form = turned ? sum(*turned, constant(source.negative ? kWord : kWord - 1)) : std::nullopt;
  return form ? Value{Value::Kind::number, 0, *form} : Value{};
}

Calculator::Pair Calculator::read_pair(const Source& source) {
  const Value low = read(source, 0), high = read(source, 1);
  Pair out;
  if (source.complement) return out;
  if (low.kind == Value::Kind::low && high.kind == Value::Kind::high && low.word == high.word &&
      same_low_word(low.form, high.form)) {
    out = {!source.negative, true, low.word, high.form};
  } else if (low.kind == Value::Kind::number && high.kind == Value::Kind::number) {
    const auto upper = with_sign(high.form);
    const auto above = upper ? times(*upper, kWord) : std::nullopt;
    auto all = above ? sum(*above, low.form) : std::nullopt;
    if (all && source.negative) all = times(*all, -1);
    if (all) out = {true, false, 0, *all};
  }
  return out;
}

Calculator::Pair Calculator::sum_of(const Pair& a, const Pair& b) {
  const auto form = sum(a.form, b.form);
  if (!a.known || !b.known || (a.pointer && b.pointer) || !form) return {};
  return {true, a.pointer || b.pointer, a.pointer ? a.word : b.word, *form};
}

std::optional<Calculator::Address> Calculator::address(const ThreadInstruction& code) {
  Pair all{true, false, 0, {}};
  if (code.address.empty()) return std::nullopt;
  for (const AddressTerm& term : code.address) {
    Pair each;
    if (term.pair) {
      each = read_pair(term.source);
      // The term may have 64 bits, or 32 bits with or without a sign. Accept it only if it has the same value in all
      // three cases.
      const auto range = each.known && !each.pointer && !term.sure ? range_of(each.form, box_) : std::nullopt;
      if (range && (range->least < 0 || range->most >= kSign)) return std::nullopt;
    } else {
      const Value value = read(term.source);
      each = {value.kind == Value::Kind::number, false, 0, value.form};
    }
    all = sum_of(all, each);
  }
  if (!all.known) return std::nullopt;
  return Address{all.pointer ? std::optional(all.word) : std::nullopt, in_box(all.form, box_)};
}

Truth Calculator::read(const Condition& condition) const {
  if (condition.slot == kNone) return truth_of(!condition.negated);
  Truth truth = state_.predicates[condition.slot - kFirstPredicate];
  if (!condition.negated) return truth;
  if (truth.shared != 0 || truth.kind == Truth::Kind::carry || truth.kind == Truth::Kind::number) return {};
  if (truth.kind == Truth::Kind::yes || truth.kind == Truth::Kind::no) return truth_of(truth.kind == Truth::Kind::no);
  return truth;
}

std::optional<bool> Calculator::holds(const Condition& condition) {
  const Truth truth = read(condition);
  if (truth.shared != 0 || (truth.kind != Truth::Kind::yes && truth.kind != Truth::Kind::no)) return std::nullopt;
  return truth.kind == Truth::Kind::yes;
}

// ---- results

void Calculator::set(Slot slot, const Value& value) {
  if (slot != kNone && slot < kStack) values_.emplace_back(slot, value);
}

void Calculator::set(const Condition& predicate, const Truth& truth) {
  if (predicate.slot != kNone && !predicate.negated) truths_.emplace_back(predicate.slot, truth);
}

void Calculator::set_pair(Slot slot, const Pair& pair) {
  Value low, high;
  if (pair.known && pair.pointer) {
    low = {Value::Kind::low, pair.word, pair.form};
    high = {Value::Kind::high, pair.word, pair.form};
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
void Calculator::set_sum(const ThreadInstruction& code, const Sum& sum, std::uint32_t at) {
  std::vector<Condition> named;
  for (const Condition& carry : code.carries) {
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
  set(code.to, sum.value);
  for (const Condition& carry : named) set(carry, truth);
}

// ---- sums

Calculator::Carries Calculator::carries_of(std::span<const Condition> conditions) const {
  Carries out{true, 0, nullptr};
  std::uint32_t shared = 0;
  for (const Condition& condition : conditions) {
    if (condition.slot == kNone) {
      out.number += condition.negated ? 0 : 1;
      continue;
    }
    const Truth& truth = state_.predicates[condition.slot - kFirstPredicate];
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
    if (truth.kind == Truth::Kind::yes) ++out.number;
    if (truth.kind == Truth::Kind::number) out.number += truth.form.base;
    if (truth.kind == Truth::Kind::carry) {
      if (out.of_pointer != nullptr) return {};
      out.of_pointer = &truth;
    }
  }
  if (shared != 0) return {};
  return out;
}

// Adds 32-bit values and the carries.
Calculator::Sum Calculator::added(Values values, std::span<const Condition> conditions) {
  const Carries carries = carries_of(conditions);
  std::optional<Form> total = constant(carries.number);
  const Value* pointer = nullptr;
  if (!carries.known) return {};
  for (const Value& value : values) {
    if (value.kind == Value::Kind::unknown) return {};
    if (value.kind != Value::Kind::number) {
      if (pointer != nullptr) return {};
      pointer = &value;
    } else if (total) {
      total = sum(*total, value.form);
    }
  }
  if (!total) return {};
  if (pointer != nullptr) return added_to_pointer(*pointer, *total, carries.of_pointer);
  if (carries.of_pointer != nullptr) return {};
  const auto above = quotient(*total, 32);
  if (!above) return {};
  return {word(*total), {Truth::Kind::number, 0, 0, constant(*above), {}}};
}

Calculator::Sum Calculator::added_to_pointer(const Value& pointer, const Form& rest, const Truth* carry) {
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
