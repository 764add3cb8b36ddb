// Computes the results of the operations, each by a rule of its own.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "sass/evaluator.h"

namespace cudadiag::sass {
namespace {

constexpr std::uint32_t kOnes = 0xffffffff;

// Returns the table's result for one combination of bits.
bool entry(std::uint32_t table, bool a, bool b, bool c) {
  return (table >> ((a ? 4u : 0u) | (b ? 2u : 0u) | (c ? 1u : 0u)) & 1) != 0;
}

std::int64_t extended(std::int64_t word) { return word < kWord / 2 ? word : word - kWord; }

// Only a sum with .X adds the carries among its operands.
std::span<const Condition> carries_in(const Instruction& i) {
  return i.has<"X">() ? std::span(i.conditions) : std::span<const Condition>();
}

}  // namespace

void Evaluator::evaluate(const Instruction& i, std::uint32_t at) {
  values_.clear();
  truths_.clear();
  switch (i.op) {
    case Op::move:
      return move(i);
    case Op::choose:
      return choose(i);
    case Op::special:
      return special(i);
    case Op::add:
      return add(i, at);
    case Op::multiply:
      return i.has<"WIDE">() ? multiply_wide(i) : i.has<"HI">() ? multiply_high(i) : multiply(i, at);
    case Op::scale:
      return scale(i, at);
    case Op::shift:
      return shift(i);
    case Op::combine:
      return combine(i);
    case Op::absolute:
      return absolute(i);
    case Op::least:
      return least(i);
    case Op::permute:
      return permute(i);
    case Op::extend:
      return extend(i);
    case Op::compare:
      return compare(i);
    case Op::decide:
      return decide(i);
    case Op::number:
      return reciprocal(i);
    default:
      return;
  }
}

void Evaluator::move(const Instruction& i) {
  if (i.values.empty() || i.to() == kNone) return;
  if (!i.moves_whole()) return move_part(i);
  for (std::uint32_t half = 0; half < i.words; ++half) {
    set(i.to() + half, with_sign_of(i.values[0], read(i.values[0], half)));
  }
}

// Handles "ULDC.U8 UR4, c[0x0][0x225]".
void Evaluator::move_part(const Instruction& i) {
  const bool byte = i.has<"U8">() || i.has<"S8">();
  const Operand& from = i.values[0];
  if (i.has<"OR">() || from.kind != Operand::Kind::bank || from.slot != kNone || !from.is_plain()) return;
  const unsigned first = 8 * (from.offset % 4), size = byte ? 8 : 16;
  const auto word = number(inputs_.bank(from.offset & ~3u));
  if (!word || first + size > 32) return;
  const auto up = static_cast<std::uint32_t>(*word) << (32 - first - size);
  const bool with_sign = i.has<"S8">() || i.has<"S16">();
  set(i.to(), number_of(with_sign ? static_cast<std::uint32_t>(static_cast<std::int32_t>(up) >> (32 - size))
                                  : up >> (32 - size)));
}

// Handles the steps with floating-point numbers by which integers are divided:
//   I2F.U32.RP R0, R12
//   MUFU.RCP R0, R0
//   IADD3 R2, R0, 0xffffffe, RZ
//   F2I.FTZ.U32.TRUNC.NTZ R3, R2
// The result depends on how the processor rounds, but the quotient that code computes from it does not.
void Evaluator::reciprocal(const Instruction& i) {
  const bool begins = i.opcode == "I2F.U32.RP" || i.opcode == "I2F.RP", turns = i.opcode == "MUFU.RCP";
  if ((!begins && !turns && i.opcode != "F2I.FTZ.U32.TRUNC.NTZ") || i.values.size() != 1 || !i.values[0].is_plain())
    return;
  const auto known = number(read(i.values[0]));
  if (!known || *known == 0) return;
  const auto bits = static_cast<std::uint32_t>(*known);
  if (begins) {
    if (i.opcode == "I2F.RP" && bits > 0x7fffffff) return;
    float up = static_cast<float>(bits);
    if (static_cast<double>(up) < bits) up = std::nextafter(up, std::numeric_limits<float>::infinity());
    return set(i.to(), number_of(std::bit_cast<std::uint32_t>(up)));
  }
  const float value = std::bit_cast<float>(bits);
  if (turns && value >= 1 && value <= 4294967296.0f) set(i.to(), number_of(std::bit_cast<std::uint32_t>(1 / value)));
  if (!turns && value >= 1 && value < 4294967296.0f) set(i.to(), number_of(static_cast<std::uint32_t>(value)));
}

void Evaluator::choose(const Instruction& i) {
  if (i.values.size() != 2 || i.conditions.size() != 1 || i.to() == kNone) return;
  const auto first = holds(i.conditions[0]);
  if (!first) return;
  const Operand& from = i.values[*first ? 0 : 1];
  if (!from.is_plain() && i.words > 1) return;
  for (std::uint32_t half = 0; half < std::min(i.words, 2u); ++half) {
    set(i.to() + half, with_sign_of(from, read(from, half)));
  }
}

void Evaluator::special(const Instruction& i) {
  if (i.operands.size() != 2 || i.to() == kNone) return;
  const std::string_view what = i.operands[1];
  if (what != "SRZ" && i.base() == "CS2R") return;
  const Value value = what == "SRZ" ? number_of(0) : inputs_.special(what);
  for (std::uint32_t half = 0; half < i.written.count; ++half) set(i.to() + half, value);
}

void Evaluator::add(const Instruction& i, std::uint32_t at) {
  if (i.has<"64">()) {
    const Carries carries = carries_of(carries_in(i));
    Pair all{carries.known && !carries.of_pointer, false, 0, constant(carries.number)};
    for (const Operand& each : i.values) all = sum_of(all, read_pair(each));
    return set_pair(i.to(), all);
  }
  std::vector<Value> values;
  for (const Operand& each : i.values) values.push_back(read_signed(each));
  set_sum(i, added(values, carries_in(i)), at);
}

// Multiplies two unsigned numbers, if one of them is the same for all threads.
Value Evaluator::product(const Value& a, const Value& b) {
  const auto x = number(a), y = number(b);
  if ((x && *x == 0) || (y && *y == 0)) return number_of(0);
  if (x && *x == 1) return b;
  if (y && *y == 1) return a;
  if (!is_number(a) || !is_number(b) || (!x && !y)) return {};
  if (x && y) return number_of(static_cast<std::uint32_t>(*x) * static_cast<std::uint32_t>(*y));
  const std::int64_t factor = x ? *x : *y;
  // Read the factor as a signed number if that makes its absolute value smaller.
  const auto form = times(x ? b.form : a.form, extended(factor));
  return form ? word(*form) : Value();
}

void Evaluator::multiply(const Instruction& i, std::uint32_t at) {
  if (i.values.size() < 3) return;
  std::array<Value, 2> values;
  for (const std::size_t each : {0, 1}) {
    values[each] = read_signed(i.values[each]);
    // The negation of 0 is 2^32, which does not fit into 32 bits.
    if (i.values[each].negative && is_number(values[each])) values[each] = word(values[each].form);
  }
  const std::array terms{product(values[0], values[1]), read_signed(i.values[2])};
  set_sum(i, added(terms, carries_in(i)), at);
}

void Evaluator::multiply_wide(const Instruction& i) {
  if (i.values.size() < 3) return;
  const Carries carries = carries_of(carries_in(i));
  std::array<std::optional<Form>, 2> forms;
  for (const std::size_t at : {0, 1}) {
    const Operand& operand = i.values[at];
    const Value value = read(operand);
    if (!is_number(value) || operand.complement) return;
    forms[at] = as_read_by(i, value.form);
    if (operand.negative && forms[at]) forms[at] = i.has<"U32">() ? std::nullopt : times(*forms[at], -1);
    if (!forms[at]) return;
    forms[at] = in_box(*forms[at], box_);
  }
  const bool first = forms[0]->is_constant();
  if (!first && !forms[1]->is_constant()) return;
  const auto product = wrapped_product(*forms[first ? 1 : 0], forms[first ? 0 : 1]->base);
  const auto all = product ? wrapped_sum(*product, constant(carries.number)) : std::nullopt;
  const Pair addend = read_pair(i.values[2]);
  if (!all || !carries.known || carries.of_pointer) return;
  set_pair(i.to(), sum_of({true, false, 0, *all}, addend));
  // The carry of an unsigned sum is known if the sum is a single number.
  const Form total = in_box(addend.form, box_);
  const bool single = addend.known && !addend.pointer && all->is_constant() && total.is_constant();
  if (!single || !i.has<"U32">() || i.carries.size() != 1) return;
  const auto low = static_cast<std::uint64_t>(all->base), sum = low + static_cast<std::uint64_t>(total.base);
  set(i.carries[0], truth_of(low < static_cast<std::uint64_t>(carries.number) || sum < low));
}

// The result is the upper half of a product of 64 bits and an addend of 64 bits.
void Evaluator::multiply_high(const Instruction& i) {
  if (i.values.size() < 3 || i.has<"X">()) return;
  const Pair addend = read_pair(i.values[2]);
  if (!addend.known || addend.pointer || !addend.form.is_constant()) return;
  std::array<std::optional<Form>, 2> forms;
  for (const std::size_t at : {0, 1}) {
    const Value value = read(i.values[at]);
    if (!is_number(value) || !i.values[at].is_plain()) return;
    forms[at] = i.has<"U32">() ? std::optional(in_box(value.form, box_)) : with_sign(value.form);
    if (!forms[at]) return;
  }
  const bool first = forms[0]->is_constant();
  if (!first && !forms[1]->is_constant()) return;
  const Form &factor = *forms[first ? 0 : 1], &other = *forms[first ? 1 : 0];
  if (i.has<"U32">() && other.is_constant()) {
    const auto product = static_cast<std::uint64_t>(factor.base) * static_cast<std::uint64_t>(other.base);
    return set(i.to(),
               number_of(static_cast<std::int64_t>((product + static_cast<std::uint64_t>(addend.form.base)) >> 32)));
  }
  const auto product = times(other, factor.base);
  const auto all = product ? sum(*product, addend.form) : std::nullopt;
  const auto upper = all ? quotient(*all, 32) : std::nullopt;
  if (upper) set(i.to(), number_of(*upper & (kWord - 1)));
}

// Handles "LEA R2, P0, R5, R6, 0x2", "LEA.HI.X R3, R5, R7, R6, 0x2, P0" and "LEA.HI.X.SX32 R3, R5, R7, 0x2, P0".
void Evaluator::scale(const Instruction& i, std::uint32_t at) {
  const bool high = i.has<"HI">(), extends = i.has<"SX32">();
  const std::size_t by = high && !extends ? 3 : 2;
  if (i.values.size() != by + 1 || i.has<"64">() || !std::ranges::all_of(i.values, &Operand::is_plain)) return;
  const Value a = read(i.values[0]), b = read(i.values[1]);
  const auto shift = number(read(i.values[by]));
  if (!shift || *shift > 31 || !is_number(a)) return;
  const Value scaled = high ? upper_of_shifted(a, extends ? shifted_right(a, 31, true) : read(i.values[2]), *shift)
                            : shifted_left(a, *shift);
  const std::array terms{scaled, b};
  set_sum(i, added(terms, carries_in(i)), at);
}

void Evaluator::absolute(const Instruction& i) {
  if (i.values.size() != 1) return;
  const Value value = read(i.values[0]);
  const auto form = is_number(value) && i.values[0].is_plain() ? with_sign(value.form) : std::nullopt;
  const auto negative = form ? less(*form, 0) : std::nullopt;
  if (!negative) return;
  const auto turned = *negative ? times(*form, -1) : form;
  if (turned) set(i.to(), word(*turned));
}

// Handles "VIADDMNMX R5, R11, 0x1, R8, !PT", too, which adds the first two operands.
void Evaluator::least(const Instruction& i) {
  const std::string_view modifiers = i.opcode.substr(i.base().size());
  const bool plain = modifiers.empty() || modifiers == ".U32" || modifiers == ".S32", adds = i.base() == "VIADDMNMX";
  if (i.values.size() != (adds ? 3 : 2) || i.conditions.size() != 1 || !plain) return;
  std::array<std::optional<Form>, 2> forms;
  for (const std::size_t at : {0, 1}) {
    Value value = read(i.values[at == 1 && adds ? 2 : at]);
    if (at == 0 && adds) value = added(std::array{read_signed(i.values[0]), read_signed(i.values[1])}).value;
    const bool is_plain = adds || i.values[at].is_plain();
    if (!is_number(value) || !is_plain) return;
    forms[at] = as_read_by(i, value.form);
    if (!forms[at]) return;
  }
  const auto apart = difference(*forms[0], *forms[1]);
  const auto wants_least = holds(i.conditions[0]);
  const auto first_is_less = apart ? less(*apart, 0) : std::nullopt;
  if (first_is_less && wants_least) set(i.to(), word(*forms[*first_is_less == *wants_least ? 0 : 1]));
}

// Each of the lowest four digits of the second operand selects a byte of the two others.
void Evaluator::permute(const Instruction& i) {
  if (i.values.size() != 3 || !i.is_plain()) return;
  const auto a = number(read_signed(i.values[0])), how = number(read(i.values[1])),
             b = number(read_signed(i.values[2]));
  if (!a || !b || !how || !i.values[1].is_plain()) return;
  const std::uint64_t both = static_cast<std::uint64_t>(*a) | static_cast<std::uint64_t>(*b) << 32;
  std::uint32_t out = 0;
  for (std::uint32_t byte = 0; byte < 4; ++byte) {
    const auto pick = static_cast<std::uint32_t>(*how >> (4 * byte)) & 0xf;
    std::uint32_t value = static_cast<std::uint32_t>(both >> (8 * (pick & 7))) & 0xff;
    if ((pick & 8) != 0) value = (value & 0x80) != 0 ? 0xff : 0;
    out |= value << (8 * byte);
  }
  set(i.to(), number_of(out));
}

// Handles "SGXT R0, R1, 0x8". The result is the lowest 8 bits, sign-extended.
void Evaluator::extend(const Instruction& i) {
  if (i.values.size() != 2 || i.has<"W">() || !i.values[0].is_plain()) return;
  const auto a = number(read(i.values[0])), bits = number(read(i.values[1]));
  if (!a || !bits || *bits == 0 || *bits > 31) return;
  const auto up = static_cast<std::uint32_t>(*a) << (32 - *bits);
  set(i.to(), number_of(i.has<"U32">() ? up >> (32 - *bits)
                                       : static_cast<std::uint32_t>(static_cast<std::int32_t>(up) >> (32 - *bits))));
}

Value Evaluator::shifted_left(const Value& a, std::int64_t by) {
  if (const auto bits = number(a)) return number_of(static_cast<std::uint32_t>(*bits << by));
  const auto form = is_number(a) ? times(a.form, std::int64_t{1} << by) : std::nullopt;
  return form ? word(*form) : Value();
}

Value Evaluator::shifted_right(const Value& a, std::int64_t by, bool with_its_sign) {
  if (!is_number(a)) return {};
  const auto form = with_its_sign ? with_sign(a.form) : std::optional(a.form);
  const auto result = form ? quotient(*form, static_cast<unsigned>(by)) : std::nullopt;
  return result ? number_of(*result & (kWord - 1)) : Value();
}

Value Evaluator::upper_of_shifted(const Value& low, const Value& high, std::int64_t by) {
  if (by == 0) return high;
  const std::array terms{shifted_left(high, by), shifted_right(low, 32 - by, false)};
  return added(terms, {}).value;
}

// Handles "SHF.L.U64.HI R5, R4, 0x2, R5". Shifts a pair with the third operand as its upper half and the first as its
// lower half. The result is one half of the shifted pair.
void Evaluator::shift(const Instruction& i) {
  if (i.values.size() != 3 || i.has<"W">() || i.has<"L">() == i.has<"R">()) return;
  if (!std::ranges::all_of(i.values, &Operand::is_plain)) return;
  const Value low = as_number(read(i.values[0])), upper = as_number(read(i.values[2]));
  const auto by = number(read(i.values[1]));
  if (!by || *by > 31) return;
  const bool with_its_sign = i.has<"S32">() || i.has<"S64">();
  Value result;
  if (i.has<"L">()) {
    result = i.has<"HI">() ? upper_of_shifted(low, upper, *by) : shifted_left(low, *by);
  } else if (i.has<"HI">()) {
    result = shifted_right(upper, *by, with_its_sign);
  } else if (*by == 0) {
    result = low;
  } else {
    const std::array terms{shifted_right(low, *by, false), shifted_left(upper, 32 - *by)};
    result = added(terms, {}).value;
  }
  set(i.to(), result);
}

// Clears all bits outside the mask. Returns an unknown value if the mask's bits are not contiguous.
Value Evaluator::masked(const Form& form, std::uint32_t mask) {
  if (mask == 0) return number_of(0);
  const unsigned first = static_cast<unsigned>(std::countr_zero(mask));
  const unsigned end = 32 - static_cast<unsigned>(std::countl_zero(mask));
  if (std::popcount(mask) != static_cast<int>(end - first)) return {};
  const auto above = quotient(form, end);
  const auto rest = above ? sum(form, constant(-*above * (std::int64_t{1} << end))) : std::nullopt;
  if (!rest) return {};
  const Form low = in_box(*rest, box_);
  if (is_multiple(low, std::int64_t{1} << first)) return {Value::Kind::number, 0, low};
  const auto pieces = quotient(low, first);
  return pieces ? number_of(*pieces * (std::int64_t{1} << first)) : Value();
}

// Returns the bitwise OR of two numbers. The result is known only if the numbers have no bit in common; it is then
// their sum.
Value Evaluator::united(const Form& a, const Form& b) {
  const auto disjoint = [&](const Form& low, const Form& high) {
    const auto range = range_of(low, box_);
    if (!range) return false;
    return is_multiple(high, std::int64_t{1} << std::bit_width(static_cast<std::uint64_t>(range->most)));
  };
  if (!disjoint(a, b) && !disjoint(b, a)) return {};
  const auto both = sum(a, b);
  return both ? word(*both) : Value();
}

// Handles "LOP3.LUT R3, R0, R9, RZ, 0x3c, !PT".
Value Evaluator::combined(const std::array<Value, 3>& inputs, std::uint32_t table) {
  std::array<std::uint32_t, 3> numbers{};
  std::vector<std::size_t> others;
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    const auto known = number(inputs[at]);
    known ? void(numbers[at] = static_cast<std::uint32_t>(*known)) : others.push_back(at);
  }
  // Computes the result for given bits of the inputs that are not constant.
  const auto result = [&](bool first, bool second) {
    std::uint32_t out = 0;
    for (std::uint32_t bit = 0; bit < 32; ++bit) {
      std::array<bool, 3> bits{};
      for (std::size_t at = 0; at < 3; ++at) bits[at] = (numbers[at] >> bit & 1) != 0;
      if (!others.empty()) bits[others[0]] = first;
      if (others.size() > 1) bits[others[1]] = second;
      out |= (entry(table, bits[0], bits[1], bits[2]) ? 1u : 0u) << bit;
    }
    return out;
  };
  if (others.size() > 2) return {};
  const std::uint32_t none = result(false, false), one = result(true, false);
  if (none == one && (others.size() < 2 || (result(false, true) == none && result(true, true) == none))) {
    return number_of(none);
  }
  for (const std::size_t other : others) {
    if (!is_number(inputs[other])) return {};
  }
  if (others.size() == 1) {
    const Form& form = inputs[others[0]].form;
    if (none == kOnes && one == 0) {
      const auto complement = difference(constant(kWord - 1), form);
      return complement ? word(*complement) : Value();
    }
    // Each result bit must be 0, 1 or the form's bit, not the inverse of the form's bit.
    if ((none & ~one) != 0) return {};
    const Value kept = masked(form, one & ~none);
    return is_number(kept) ? word(sum(kept.form, constant(none)).value_or(Form())) : Value();
  }
  // With two inputs that are not constant, only the bitwise OR is supported.
  const bool united_bits = none == 0 && one == kOnes && result(false, true) == kOnes;
  return united_bits ? united(inputs[others[0]].form, inputs[others[1]].form) : Value();
}

void Evaluator::combine(const Instruction& i) {
  if (i.values.size() != 4 || !i.has<"LUT">()) return;
  const auto table = number(read(i.values[3]));
  if (!table || *table > 255) return;
  std::array<Value, 3> inputs;
  for (std::size_t at = 0; at < 3; ++at) {
    inputs[at] = with_sign_of(i.values[at], as_number(read(i.values[at])));
    if (i.values[at].negative) return;
  }
  const Value result = combined(inputs, static_cast<std::uint32_t>(*table));
  set(i.to(), result);
  // Handles "LOP3.LUT P1, R6, R2, 0x3, RZ, 0xc0, !PT". The predicate is true if any bit of the result is set.
  const bool plain = i.operands.back() == "!PT" || i.operands.back() == "!UPT";
  if (i.results.empty() || !plain || !is_number(result)) return;
  if (const auto zero = less(result.form, 1)) set(i.results[0], truth_of(!*zero));
}

// ---- predicates

std::optional<bool> Evaluator::compared_forms(const Instruction& i, const Form& a, const Form& b) {
  const auto apart = difference(a, b);
  if (!apart) return std::nullopt;
  const bool includes_equal = i.has<"LE">() || i.has<"GT">();
  if (i.has<"LT">() || i.has<"GE">() || includes_equal) {
    const auto under = less(*apart, includes_equal ? 1 : 0);
    return under ? std::optional(*under == (i.has<"LT">() || i.has<"LE">())) : std::nullopt;
  }
  if (!i.has<"EQ">() && !i.has<"NE">()) return std::nullopt;
  const auto under = less(*apart, 0), up_to = less(*apart, 1);
  return under && up_to ? std::optional((!*under && *up_to) == i.has<"EQ">()) : std::nullopt;
}

std::optional<bool> Evaluator::compared_pairs(const Instruction& i) {
  const Pair a = read_pair(i.values[0]), b = read_pair(i.values[1]);
  if (!a.known || !b.known) return std::nullopt;
  if (a.pointer != b.pointer && (i.has<"EQ">() || i.has<"NE">())) {
    // A memory address is never 0.
    const Form& other = a.pointer ? b.form : a.form;
    return other == Form() ? std::optional(i.has<"NE">()) : std::nullopt;
  }
  if (a.pointer || b.pointer) return std::nullopt;  // the compiler compares such words in two halves
  if (a.form.is_constant() && b.form.is_constant()) {
    const auto x = static_cast<std::uint64_t>(a.form.base), y = static_cast<std::uint64_t>(b.form.base);
    const std::int64_t less = i.has<"U64">() ? x < y : a.form.base < b.form.base;
    return compared_forms(i, constant(x == y ? 0 : less != 0 ? -1 : 1), constant(0));
  }
  // compared_forms() compares signed numbers. Use it for unsigned ones only if neither is negative, because a
  // negative form is a large unsigned number.
  const std::optional<bool> small = false;
  const auto large_a = i.has<"U64">() ? less(a.form, 0) : small, large_b = i.has<"U64">() ? less(b.form, 0) : small;
  return large_a && large_b && !*large_a && !*large_b ? compared_forms(i, a.form, b.form) : std::nullopt;
}

std::optional<bool> Evaluator::compared(const Instruction& i) {
  if (i.has<"U64">() || i.has<"S64">() || i.has<"64">()) return i.has<"EX">() ? std::nullopt : compared_pairs(i);
  Value a = read(i.values[0]), b = read(i.values[1]);
  const auto meets_zero = [this](const Value& pointer, const Value& other) {
    return pointer.kind == Value::Kind::high && number(other) == 0;
  };
  const bool of_pointer = i.has<"EX">() && (meets_zero(a, b) || meets_zero(b, a));
  if (of_pointer && (i.has<"NE">() || i.has<"EQ">())) return i.has<"NE">();
  a = as_number(a);
  b = as_number(b);
  if (!is_number(a) || !is_number(b) || !i.values[0].is_plain() || !i.values[1].is_plain()) return std::nullopt;
  const auto x = as_read_by(i, a.form), y = as_read_by(i, b.form);
  if (!x || !y) return std::nullopt;
  if (!i.has<"EX">()) return compared_forms(i, *x, *y);
  // This instruction compares the upper halves. If they are equal, the result is that of the earlier comparison of the
  // lower halves.
  const auto apart = difference(*x, *y);
  const auto under = apart ? less(*apart, 0) : std::nullopt, up_to = apart ? less(*apart, 1) : std::nullopt;
  if (!under || !up_to || i.conditions.size() != 2) return std::nullopt;
  if (!*under && *up_to) return holds(i.conditions[1]);
  if (i.has<"EQ">() || i.has<"NE">()) return i.has<"NE">();
  return *under == (i.has<"LT">() || i.has<"LE">());
}

void Evaluator::compare(const Instruction& i) {
  if (i.values.size() != 2 || i.conditions.empty() || i.results.empty()) return;
  const auto other = holds(i.conditions[0]);
  const bool both = i.has<"AND">(), either = i.has<"OR">();
  if (!both && !either) return;
  // One operand of AND or OR may determine the result.
  if (other && *other == either) return set(i.results[0], truth_of(either));
  const auto result = compared(i);
  if (result && *result == either) return set(i.results[0], truth_of(either));
  if (result && other) set(i.results[0], truth_of(*result));
}

// Handles "PLOP3.LUT P0, PT, P1, P2, PT, 0x80, 0x0". The table has one bit for each combination of inputs.
void Evaluator::decide(const Instruction& i) {
  if (i.conditions.size() != 3 || i.values.size() != 2 || i.results.empty() || !i.values[0].number[0]) return;
  const std::uint32_t table = *i.values[0].number[0];
  bool any = false, all = true;
  for (std::uint32_t each = 0; each < 8; ++each) {
    bool possible = true;
    for (std::uint32_t input = 0; input < 3; ++input) {
      const auto known = holds(i.conditions[input]);
      possible &= !known || *known == ((each >> (2 - input) & 1) != 0);
    }
    if (!possible) continue;
    any |= (table >> each & 1) != 0;
    all &= (table >> each & 1) != 0;
  }
  if (any == all) set(i.results[0], truth_of(any));
}

}  // namespace cudadiag::sass
