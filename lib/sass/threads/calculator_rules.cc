// Rules for instructions that compute integers and predicates.
#include <algorithm>
#include <array>

#include "sass/threads/calculator.h"

namespace cudadiag::sass {

void Calculator::compute(const Step& step) {
  using Rule = void (Calculator::*)(const Step&);
  static const auto rules = [] {
    std::array<Rule, static_cast<std::size_t>(Op::lost) + 1> out{};
    const auto put = [&](Op op, Rule rule) { out[static_cast<std::size_t>(op)] = rule; };
    put(Op::move, &Calculator::move);
    put(Op::choose, &Calculator::choose);
    put(Op::special, &Calculator::special);
    put(Op::add, &Calculator::add);
    put(Op::add_pairs, &Calculator::add_pairs);
    put(Op::multiply, &Calculator::multiply);
    put(Op::multiply_wide, &Calculator::multiply_wide);
    put(Op::multiply_high, &Calculator::multiply_high);
    put(Op::scale, &Calculator::scale);
    put(Op::shift, &Calculator::shift);
    put(Op::combine, &Calculator::combine);
    put(Op::absolute, &Calculator::absolute);
    put(Op::least, &Calculator::least);
    put(Op::compare, &Calculator::compare);
    put(Op::decide, &Calculator::decide);
    return out;
  }();
  values_.clear();
  truths_.clear();
  if (const Rule rule = rules[static_cast<std::size_t>(step.code.op)]) (this->*rule)(step);
  if (cut_) return;
  state_.forget(written_by(step.i));
  for (const auto& [slot, value] : values_) state_.registers[slot] = value;
  for (const auto& [slot, truth] : truths_) state_.predicates[slot - kFirstPredicate] = truth;
}

void Calculator::move(const Step& step) {
  if (step.code.values.empty()) return;
  const Source& from = step.code.values.back();
  // R1 is the stack pointer. Its value does not matter, because code only uses it for addresses of the stack.
  constexpr Slot kStackPointer = 1;
  constexpr std::int64_t kTop = 1 << 24;
  if (step.code.to == kStackPointer && step.code.words == 1 && from.kind == Source::Kind::constant &&
      from.slot == kNone && read(from).kind == Value::Kind::unknown) {
    return set(kStackPointer, number_of(kTop));
  }
  for (std::uint32_t half = 0; half < step.code.words; ++half) {
    const bool wide = from.kind == Source::Kind::number && half > 1;
    set(step.code.to + half, wide ? Value() : with_sign_of(from, read(from, half)));
  }
}

bool Calculator::moves_what_is_there(const ThreadInstruction& code) {
  if (code.op != Op::move || code.values.empty() || code.to == kNone) return false;
  const Source& from = code.values.back();
  const bool fixed = from.kind == Source::Kind::number || (from.kind == Source::Kind::constant && from.slot == kNone);
  if (!fixed || from.negative || from.complement) return false;
  for (std::uint32_t half = 0; half < code.words; ++half) {
    if (code.to + half >= kStack || (from.kind == Source::Kind::number && half > 1)) return false;
    const Value moved = read(from, half), &held = state_.registers[code.to + half];
    if (moved.kind == Value::Kind::unknown || !(moved == held)) return false;
  }
  return true;
}

void Calculator::choose(const Step& step) {
  const auto& code = step.code;
  if (code.values.size() != 2 || code.conditions.size() != 1) return;
  const auto first = holds(code.conditions[0]);
  if (!first) return;
  const Source& from = code.values[*first ? 0 : 1];
  if (from.negative || from.complement) return;
  for (std::uint32_t half = 0; half < std::min(code.words, 2u); ++half) set(code.to + half, read(from, half));
}

void Calculator::special(const Step& step) {
  const auto& operands = step.i.operands;
  if (operands.size() != 2) return;
  const std::string_view what = operands[1];
  const std::uint32_t words = step.i.base() == "CS2R" && !step.i.has("32") ? 2 : 1;
  if (what == "SRZ") {
    for (std::uint32_t half = 0; half < words; ++half) set(step.code.to + half, number_of(0));
    return;
  }
  const bool thread = what.starts_with("SR_TID."), block = what.starts_with("SR_CTAID.");
  const std::size_t axis = what.ends_with(".X") ? 0 : what.ends_with(".Y") ? 1 : what.ends_with(".Z") ? 2 : 3;
  if (words != 1 || axis == 3 || (!thread && !block)) return;
  set(step.code.to, {Value::Kind::number, 0, in_box(coordinate(axis + (block ? 3 : 0)), box_)});
}

void Calculator::add(const Step& step) {
  std::vector<Value> values;
  for (const Source& each : step.code.values) values.push_back(with_sign_of(each, read(each)));
  const bool continues = step.i.has("X");
  set_sum(step.code, added(values, continues ? std::span(step.code.conditions) : std::span<const Condition>()),
          step.at);
}

void Calculator::add_pairs(const Step& step) {
  Pair all{true, false, 0, {}};
  if (step.i.has("X")) return;
  for (const Source& each : step.code.values) all = sum_of(all, read_pair(each));
  set_pair(step.code.to, all);
}

// Multiplies two unsigned numbers, if one of them is the same for all threads.
Value Calculator::product(const Value& a, const Value& b) {
  const auto x = number(a), y = number(b);
  if ((x && *x == 0) || (y && *y == 0)) return number_of(0);
  if (x && *x == 1) return b;
  if (y && *y == 1) return a;
  if (!is_number(a) || !is_number(b) || (!x && !y)) return {};
  const std::int64_t factor = x ? *x : *y;
  // Read the factor as a signed number if that makes its absolute value smaller.
  const auto form = times(x ? b.form : a.form, factor >= kWord / 2 ? factor - kWord : factor);
  return form ? word(*form) : Value();
}

void Calculator::multiply(const Step& step) {
  const auto& code = step.code;
  if (code.values.size() < 3) return;
  std::array<Value, 2> values;
  for (const std::size_t at : {0, 1}) {
    values[at] = with_sign_of(code.values[at], read(code.values[at]));
    // The negation of 0 is 2^32, which does not fit into 32 bits.
    if (code.values[at].negative && is_number(values[at])) values[at] = word(values[at].form);
  }
  const std::array terms{product(values[0], values[1]), with_sign_of(code.values[2], read(code.values[2]))};
  const bool continues = step.i.has("X");
  set_sum(code, added(terms, continues ? std::span(code.conditions) : std::span<const Condition>()), step.at);
}

void Calculator::multiply_wide(const Step& step) {
  const auto& code = step.code;
  if (code.values.size() < 3 || step.i.has("X")) return;
  std::array<std::optional<Form>, 2> forms;
  for (const std::size_t at : {0, 1}) {
    const Source& source = code.values[at];
    const Value value = read(source);
    if (!is_number(value) || source.complement) return;
    forms[at] = step.i.has("U32") ? std::optional(value.form) : with_sign(value.form);
    if (source.negative && forms[at]) forms[at] = step.i.has("U32") ? std::nullopt : times(*forms[at], -1);
    if (!forms[at]) return;
    forms[at] = in_box(*forms[at], box_);
  }
  const bool first = forms[0]->is_constant();
  if (!first && !forms[1]->is_constant()) return;
  const auto product = first ? times(*forms[1], forms[0]->base) : times(*forms[0], forms[1]->base);
  if (product) set_pair(code.to, sum_of({true, false, 0, *product}, read_pair(code.values[2])));
}

void Calculator::multiply_high(const Step& step) {
  const auto& code = step.code;
  if (code.values.size() < 3 || step.i.has("X")) return;
  const auto plain = [](const Source& source) { return !source.negative && !source.complement; };
  const auto a = number(read(code.values[0])), b = number(read(code.values[1]));
  const Pair addend = read_pair(code.values[2]);  // 64 bits; its upper half is added to the result
  const bool adds_nothing = addend.known && !addend.pointer && addend.form.is_constant() && addend.form.base == 0;
  if (!a || !b || !adds_nothing || !plain(code.values[0]) || !plain(code.values[1])) return;
  const auto extended = [](std::int64_t value) { return value < kWord / 2 ? value : value - kWord; };
  const auto upper =
      step.i.has("U32")
          ? static_cast<std::int64_t>(static_cast<std::uint64_t>(*a) * static_cast<std::uint64_t>(*b) >> 32)
          : extended(*a) * extended(*b) >> 32;
  set(code.to, number_of(upper & (kWord - 1)));
}

// Handles "LEA R2, P0, R5, R6, 0x2", "LEA.HI.X R3, R5, R7, R6, 0x2, P0" and "LEA.HI.X.SX32 R3, R5, R7, 0x2, P0".
void Calculator::scale(const Step& step) {
  const auto& code = step.code;
  const bool high = step.i.has("HI"), extends = step.i.has("SX32"), continues = step.i.has("X");
  const std::size_t by = high && !extends ? 3 : 2;
  if (code.values.size() != by + 1 || step.i.has("64")) return;
  for (const Source& each : code.values) {
    if (each.negative || each.complement) return;
  }
  const Value a = read(code.values[0]), b = read(code.values[1]);
  const auto shift = number(read(code.values[by]));
  if (!shift || *shift > 31 || !is_number(a)) return;
  Value scaled;
  if (high) {
    const Value upper = extends ? shifted_right(a, 31, true) : read(code.values[2]);
    scaled = upper_of_shifted(a, extends ? upper : read(code.values[2]), *shift);
  } else {
    scaled = shifted_left(a, *shift);
  }
  const std::array terms{scaled, b};
  set_sum(code, added(terms, continues ? std::span(code.conditions) : std::span<const Condition>()), step.at);
}

void Calculator::absolute(const Step& step) {
  if (step.code.values.size() != 1) return;
  const Source& source = step.code.values[0];
  const Value value = read(source);
  const auto form = is_number(value) && !source.negative && !source.complement ? with_sign(value.form) : std::nullopt;
  const auto negative = form ? less(*form, 0) : std::nullopt;
  if (!negative) return;
  const auto turned = *negative ? times(*form, -1) : form;
  if (turned) set(step.code.to, word(*turned));
}

void Calculator::least(const Step& step) {
  const auto& code = step.code;
  const bool plain =
      step.i.opcode == step.i.base() || is_any(step.i.opcode.substr(step.i.base().size()), {".U32", ".S32"});
  if (code.values.size() != 2 || code.conditions.size() != 1 || !plain) return;
  std::array<std::optional<Form>, 2> forms;
  for (const std::size_t at : {0, 1}) {
    const Value value = read(code.values[at]);
    if (!is_number(value) || code.values[at].negative || code.values[at].complement) return;
    forms[at] = step.i.has("U32") ? std::optional(value.form) : with_sign(value.form);
    if (!forms[at]) return;
  }
  const auto difference = times(*forms[1], -1);
  const auto apart = difference ? sum(*forms[0], *difference) : std::nullopt;
  const auto wants_least = holds(code.conditions[0]);
  const auto first_is_less = apart ? less(*apart, 0) : std::nullopt;
  if (first_is_less && wants_least) set(code.to, word(*forms[*first_is_less == *wants_least ? 0 : 1]));
}

// ---- predicates

std::optional<bool> Calculator::compared_forms(const Instruction& i, const Form& a, const Form& b) {
  const auto turned = times(b, -1);
  const auto apart = turned ? sum(a, *turned) : std::nullopt;
  if (!apart) return std::nullopt;
  const bool includes_equal = i.has("LE") || i.has("GT");
  if (i.has("LT") || i.has("GE") || includes_equal) {
    const auto under = less(*apart, includes_equal ? 1 : 0);
    return under ? std::optional(*under == (i.has("LT") || i.has("LE"))) : std::nullopt;
  }
  if (!i.has("EQ") && !i.has("NE")) return std::nullopt;
  const auto under = less(*apart, 0), up_to = less(*apart, 1);
  return under && up_to ? std::optional((!*under && *up_to) == i.has("EQ")) : std::nullopt;
}

std::optional<bool> Calculator::compared(const Step& step) {
  const auto& code = step.code;
  const Instruction& i = step.i;
  if (i.has("U64") || i.has("S64")) {
    const Pair a = read_pair(code.values[0]), b = read_pair(code.values[1]);
    if (!a.known || !b.known) return std::nullopt;
    if (a.pointer != b.pointer && (i.has("EQ") || i.has("NE"))) {
      // A memory address is never 0.
      const Form& other = a.pointer ? b.form : a.form;
      return other == Form() ? std::optional(i.has("NE")) : std::nullopt;
    }
    if (a.pointer || b.pointer) return std::nullopt;  // the compiler compares such words in two halves
    // compared_forms() compares signed numbers. Use it for unsigned ones only if neither is negative, because a
    // negative form is a large unsigned number.
    const std::optional<bool> small = false;
    const auto large_a = i.has("U64") ? less(a.form, 0) : small, large_b = i.has("U64") ? less(b.form, 0) : small;
    return large_a && large_b && !*large_a && !*large_b ? compared_forms(i, a.form, b.form) : std::nullopt;
  }
  Value a = read(code.values[0]), b = read(code.values[1]);
  const auto meets_zero = [this](const Value& pointer, const Value& other) {
    return pointer.kind == Value::Kind::high && number(other) == 0;
  };
  const bool of_pointer = i.has("EX") && (meets_zero(a, b) || meets_zero(b, a));
  if (of_pointer && (i.has("NE") || i.has("EQ"))) return i.has("NE");
  a = as_number(a);
  b = as_number(b);
  if (!is_number(a) || !is_number(b)) return std::nullopt;
  for (const Source& each : code.values) {
    if (each.negative || each.complement) return std::nullopt;
  }
  const auto form_of = [&](const Value& value) {
    return i.has("U32") ? std::optional(value.form) : with_sign(value.form);
  };
  const auto x = form_of(a), y = form_of(b);
  if (!x || !y) return std::nullopt;
  if (!i.has("EX")) return compared_forms(i, *x, *y);
  // This instruction compares the upper halves. If they are equal, the result is that of the earlier comparison of the
  // lower halves.
  const auto turned = times(*y, -1);
  const auto apart = turned ? sum(*x, *turned) : std::nullopt;
  const auto under = apart ? less(*apart, 0) : std::nullopt, up_to = apart ? less(*apart, 1) : std::nullopt;
  if (!under || !up_to || code.conditions.size() != 2) return std::nullopt;
  if (!*under && *up_to) return holds(code.conditions[1]);
  if (i.has("EQ") || i.has("NE")) return i.has("NE");
  return *under == (i.has("LT") || i.has("LE"));
}

void Calculator::compare(const Step& step) {
  const auto& code = step.code;
  if (code.values.size() != 2 || code.conditions.empty() || code.results.empty()) return;
  const auto other = holds(code.conditions[0]);
  const bool both = step.i.has("AND"), either = step.i.has("OR");
  if (!both && !either) return;
  // One operand of AND or OR may determine the result.
  if (other && *other == either) return set(code.results[0], truth_of(either));
  const auto result = compared(step);
  if (result && *result == either) return set(code.results[0], truth_of(either));
  if (result && other) set(code.results[0], truth_of(*result));
}

// Handles "PLOP3.LUT P0, PT, P1, P2, PT, 0x80, 0x0". The table has one bit for each combination of inputs.
void Calculator::decide(const Step& step) {
  const auto& operands = step.i.operands;
  if (operands.size() != 7 || step.code.results.empty()) return;
  const auto table = parse_hex(operands[5]);
  if (!table) return;
  bool any = false, all = true;
  for (std::uint32_t each = 0; each < 8; ++each) {
    bool possible = true;
    for (std::uint32_t input = 0; input < 3; ++input) {
      const std::string_view text = operands[2 + input];
      const auto known = holds({predicate_slot(text), text.starts_with('!')});
      possible &= !known || *known == ((each >> (2 - input) & 1) != 0);
    }
    if (!possible) continue;
    any |= (*table >> each & 1) != 0;
    all &= (*table >> each & 1) != 0;
  }
  if (any == all) set(step.code.results[0], truth_of(any));
}

}  // namespace cudadiag::sass
