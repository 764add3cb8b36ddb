// Rules for shifts and bitwise instructions.
#include <array>
#include <bit>

#include "sass/threads/calculator.h"

namespace cudadiag::sass {
namespace {

constexpr std::uint32_t kOnes = 0xffffffff;

// Returns the table's result for one combination of bits.
bool entry(std::uint32_t table, bool a, bool b, bool c) {
  return (table >> ((a ? 4u : 0u) | (b ? 2u : 0u) | (c ? 1u : 0u)) & 1) != 0;
}

}  // namespace

Value Calculator::shifted_left(const Value& a, std::int64_t by) {
  const auto form = is_number(a) ? times(a.form, std::int64_t{1} << by) : std::nullopt;
  return form ? word(*form) : Value();
}

Value Calculator::shifted_right(const Value& a, std::int64_t by, bool with_its_sign) {
  if (!is_number(a)) return {};
  const auto form = with_its_sign ? with_sign(a.form) : std::optional(a.form);
  const auto result = form ? quotient(*form, static_cast<unsigned>(by)) : std::nullopt;
  return result ? number_of(*result & (kWord - 1)) : Value();
}

Value Calculator::upper_of_shifted(const Value& low, const Value& high, std::int64_t by) {
  if (by == 0) return high;
  const std::array terms{shifted_left(high, by), shifted_right(low, 32 - by, false)};
  return added(terms, {}).value;
}

// Handles "SHF.L.U64.HI R5, R4, 0x2, R5". Shifts a pair with the third operand as its upper half and the first as its
// lower half. The result is one half of the shifted pair.
void Calculator::shift(const Step& step) {
  const auto& code = step.code;
  const Instruction& i = step.i;
  if (code.values.size() != 3 || i.has("W") || i.has("L") == i.has("R")) return;
  for (const Source& each : code.values) {
    if (each.negative || each.complement) return;
  }
  const Value low = as_number(read(code.values[0])), upper = as_number(read(code.values[2]));
  const auto by = number(read(code.values[1]));
  if (!by || *by > 31) return;
  const bool with_its_sign = i.has("S32") || i.has("S64");
  Value result;
  if (i.has("L")) {
    result = i.has("HI") ? upper_of_shifted(low, upper, *by) : shifted_left(low, *by);
  } else if (i.has("HI")) {
    result = shifted_right(upper, *by, with_its_sign);
  } else if (*by == 0) {
    result = low;
  } else {
    const std::array terms{shifted_right(low, *by, false), shifted_left(upper, 32 - *by)};
    result = added(terms, {}).value;
  }
  set(code.to, result);
}

// Clears all bits outside the mask. Returns an unknown value if the mask's bits are not contiguous.
Value Calculator::masked(const Form& form, std::uint32_t mask) {
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
Value Calculator::united(const Form& a, const Form& b) {
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
Value Calculator::combined(const Value& a, const Value& b, const Value& c, std::uint32_t table) {
  const std::array inputs{&a, &b, &c};
  std::array<std::uint32_t, 3> numbers{};
  std::vector<std::size_t> others;
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    const auto known = number(*inputs[at]);
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
    if (!is_number(*inputs[other])) return {};
  }
  if (others.size() == 1) {
    const Form& form = inputs[others[0]]->form;
    if (none == kOnes && one == 0) {
      const auto turned = times(form, -1);
      const auto complement = turned ? sum(*turned, constant(kWord - 1)) : std::nullopt;
      return complement ? word(*complement) : Value();
    }
    // Each result bit must be 0, 1 or the form's bit, not the inverse of the form's bit.
    if ((none & ~one) != 0) return {};
    const Value kept = masked(form, one & ~none);
    return is_number(kept) ? word(sum(kept.form, constant(none)).value_or(Form())) : Value();
  }
  // With two inputs that are not constant, only the bitwise OR is supported.
  const bool united_bits = none == 0 && one == kOnes && result(false, true) == kOnes;
  return united_bits ? united(inputs[others[0]]->form, inputs[others[1]]->form) : Value();
}

void Calculator::combine(const Step& step) {
  const auto& code = step.code;
  if (code.values.size() != 4 || !step.i.has("LUT")) return;
  const auto table = number(read(code.values[3]));
  if (!table || *table > 255) return;
  std::array<Value, 3> inputs;
  for (std::size_t at = 0; at < 3; ++at) {
    inputs[at] = with_sign_of(code.values[at], as_number(read(code.values[at])));
    if (code.values[at].negative) return;
  }
  const Value result = combined(inputs[0], inputs[1], inputs[2], static_cast<std::uint32_t>(*table));
  set(code.to, result);
  // Handles "LOP3.LUT P1, R6, R2, 0x3, RZ, 0xc0, !PT". The predicate is true if any bit of the result is set.
  const bool plain = step.i.operands.back() == "!PT" || step.i.operands.back() == "!UPT";
  if (code.results.empty() || !plain || !is_number(result)) return;
  if (const auto zero = less(result.form, 1)) set(code.results[0], truth_of(!*zero));
}

}  // namespace cudadiag::sass
