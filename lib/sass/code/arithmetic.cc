#include "sass/code/arithmetic.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <unordered_map>

namespace cudadiag::sass {
namespace {

using Word = std::optional<std::uint32_t>;
using Wide = std::optional<std::uint64_t>;

std::uint64_t extended(std::uint32_t word) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(word)));
}

// Parses a number that half precision can represent exactly, and returns its bits.
Word half_bits(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (size == 0) return sign;
  int exponent = 0;
  std::frexp(size, &exponent);
  const int unit = std::max(exponent - 11, -24);  // exponent of the fraction's last bit
  const double scaled = std::ldexp(size, -unit);
  if (scaled != std::floor(scaled) || exponent > 16) return std::nullopt;
  const auto fraction = static_cast<std::uint32_t>(scaled);
  return sign | (fraction < 1024 ? fraction : (static_cast<std::uint32_t>(unit + 25) << 10) + (fraction - 1024));
}

class Calculation {
 public:
  Calculation(const Instruction& i, const Operands& operands) : i_(i), operands_(operands), parts_(parts_of(i)) {}

  // `value` always has 64 bits. For a 32-bit operation, its upper half is 0.
  struct Result {
    Known known = Known::opcode;
    Wide value;
    bool wide = false;
    std::optional<std::uint32_t> carry;  // out of bit 31 or, if `wide`, out of bit 63
  };

  Result run() const {
    using Rule = Result (Calculation::*)() const;
    static const std::unordered_map<std::string_view, Rule> kRules = {
        {"MOV", &Calculation::move},     {"R2UR", &Calculation::move},   {"LDC", &Calculation::move},
        {"LDCU", &Calculation::move},    {"SEL", &Calculation::choose},  {"IADD3", &Calculation::add},
        {"IADD", &Calculation::add},     {"VIADD", &Calculation::add},   {"IMAD", &Calculation::multiply},
        {"LEA", &Calculation::scale},    {"SHF", &Calculation::shift},   {"LOP3", &Calculation::combine},
        {"IABS", &Calculation::size},    {"IMNMX", &Calculation::pick},  {"VIMNMX", &Calculation::pick},
        {"PRMT", &Calculation::permute}, {"SGXT", &Calculation::extend}, {"HFMA2", &Calculation::halves}};
    const std::string_view base = i_.base();
    auto rule = kRules.find(base);
    if (rule == kRules.end()) rule = kRules.find(without_u(base));
    if (rule == kRules.end()) return {Known::nothing, {}, false, {}};
    return (this->*rule->second)();
  }

 private:
  static constexpr std::uint64_t kMask = 0xffffffff;

  std::size_t count() const { return parts_.values.size(); }
  bool pair() const { return i_.has("64"); }

  static Result word(Word value) { return {Known::opcode, value ? Wide(*value) : Wide(), false, {}}; }
  static Result wide(Wide value) { return {Known::opcode, value, true, {}}; }

  static bool plain(std::string_view operand) { return operand.find_first_of("-~|") == std::string_view::npos; }
  static bool negative(std::string_view operand) { return operand.starts_with('-') && !operand.starts_with("-0x"); }

  // Returns the operand with its sign or complement applied.
  Word read(std::size_t at, std::uint32_t half = 0) const {
    if (at >= count()) return std::nullopt;
    const std::string_view operand = parts_.values[at];
    if (operand.find('|') != std::string_view::npos) return std::nullopt;
    const bool complement = operand.starts_with('~');
    if (negative(operand) && half != 0) return std::nullopt;
    const Word value = raw(operand.substr(negative(operand) || complement ? 1 : 0), half);
    if (!value) return value;
    return complement ? ~*value : negative(operand) ? 0 - *value : *value;
  }
  Word raw(std::string_view operand, std::uint32_t half) const {
    if (operand.starts_with("RZ") || operand.starts_with("URZ")) return 0;
    if (const Word number = immediate(operand, half)) return number;
    return operands_.word(operand, half);
  }
  Wide read_pair(std::size_t at) const {
    if (at >= count()) return std::nullopt;
    const std::string_view operand = parts_.values[at];
    const bool minus = negative(operand);
    if (!minus && !plain(operand) && !immediate(operand, 0)) return std::nullopt;
    const std::string_view own = operand.substr(minus ? 1 : 0);
    const Word low = raw(own, 0), high = raw(own, 1);
    if (!low || !high) return std::nullopt;
    const std::uint64_t value = *low | static_cast<std::uint64_t>(*high) << 32;
    return minus ? 0 - value : value;
  }
  // Returns the sum of the carries that an instruction with .X adds; 0 for other instructions.
  Word carried() const {
    if (!i_.has("X")) return 0;
    std::uint32_t sum = 0;
    for (const std::string_view condition : parts_.conditions) {
      const auto truth = operands_.truth(condition);
      if (!truth) return std::nullopt;
      sum += *truth ? 1 : 0;
    }
    return sum;
  }

  Result move() const {
    const bool part = i_.has("U8") || i_.has("S8") || i_.has("U16") || i_.has("S16") || i_.has("OR");
    if (parts_.values.empty() || part) return word({});
    return pair() || i_.has("128") ? wide(read_pair(parts_.values.size() - 1)) : word(read(0));
  }

  Result choose() const {
    if (count() != 2 || parts_.conditions.size() != 1) return word({});
    const auto truth = operands_.truth(parts_.conditions[0]);
    if (!truth) return word({});
    return pair() ? wide(read_pair(*truth ? 0 : 1)) : word(read(*truth ? 0 : 1));
  }

  Result add() const {
    if (pair()) return add_pairs();
    std::uint64_t sum = 0;
    const Word carry = carried();
    if (!carry) return word({});
    for (std::size_t at = 0; at < count(); ++at) {
      const std::string_view operand = parts_.values[at];
      const Word value = read(at);
      if (!value) return word({});
      // A subtraction adds the complement plus one, so a carry means that nothing was borrowed.
      sum += negative(operand) ? (*value == 0 ? kMask + 1 : std::uint64_t{*value}) : std::uint64_t{*value};
    }
    sum += *carry;
    return {Known::opcode, sum & kMask, false, static_cast<std::uint32_t>(sum >> 32)};
  }

  Result add_pairs() const {
    const Word carry = carried();
    if (!carry) return wide({});
    std::uint64_t sum = *carry;
    for (std::size_t at = 0; at < count(); ++at) {
      const Wide value = read_pair(at);
      if (!value) return wide({});
      sum += *value;
    }
    return wide(sum);
  }

  Result multiply() const {
    if (count() < 3) return word({});
    const bool is_wide = i_.has("WIDE"), high = i_.has("HI");
    const Word a = read(0), b = read(1), carry = carried();
    const bool simple = !is_wide || (!negative(parts_.values[0]) && !negative(parts_.values[1]));
    if (!a || !b || !carry || !simple) return is_wide ? wide({}) : word({});
    const bool is_unsigned = i_.has("U32");
    const std::uint64_t product = is_unsigned ? std::uint64_t{*a} * *b : extended(*a) * extended(*b);
    if (is_wide) {
      const Wide c = read_pair(2);
      if (!c) return wide({});
      const std::uint64_t sum = product + *c + *carry;
      const bool overflow = is_unsigned && sum < product;
      return {Known::opcode, sum, true, is_unsigned ? std::optional(overflow ? 1u : 0u) : std::nullopt};
    }
    if (high) {
      const std::string_view c = parts_.values[2];
      return c == "RZ" || c == "URZ" ? word(static_cast<std::uint32_t>(product >> 32)) : word({});
    }
    const Word c = read(2);
    return c ? word(static_cast<std::uint32_t>(product + *c + *carry)) : word({});
  }

  // Handles "LEA R2, P0, R5, R6, 0x2", "LEA.HI.X R3, R5, R7, R6, 0x2, P0" and "LEA.HI.X.SX32 R3, R5, R7, 0x2, P0".
  Result scale() const {
    const bool high = i_.has("HI"), extends = i_.has("SX32");
    const std::size_t by = high && !extends ? 3 : 2;
    if (count() != by + 1 || pair()) return word({});
    for (const std::string_view operand : parts_.values) {
      if (!plain(operand)) return word({});
    }
    const Word a = read(0), b = read(1), shift = read(by), carry = carried();
    if (!a || !b || !carry || !shift || *shift > 31) return word({});
    std::uint64_t scaled = *a;
    if (high) {
      const Word upper = extends ? Word(static_cast<std::uint32_t>(extended(*a) >> 32)) : read(2);
      if (!upper) return word({});
      scaled = *shift == 0 ? *upper : (std::uint64_t{*upper} << *shift | std::uint64_t{*a} >> (32 - *shift));
    } else {
      scaled <<= *shift;
    }
    const std::uint64_t sum = (scaled & kMask) + *b + *carry;
    return {Known::opcode, sum & kMask, false, static_cast<std::uint32_t>(sum >> 32)};
  }

  // Handles "SHF.L.U64.HI R5, R4, 0x2, R5". Shifts a pair with the third operand as its upper half and the first as its
  // lower half. The result is one half of the shifted pair.
  Result shift() const {
    const Word low = read(0), by = read(1), upper = read(2);
    if (!low || !by || !upper || *by > 31 || i_.has("W")) return word({});
    const std::uint64_t both = *low | std::uint64_t{*upper} << 32;
    const bool is_signed = i_.has("S32") || i_.has("S64");
    const std::uint64_t right =
        is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(both) >> *by) : both >> *by;
    const std::uint64_t shifted = i_.has("L") ? both << *by : right;
    if (!i_.has("L") && !i_.has("R")) return word({});
    return word(static_cast<std::uint32_t>(i_.has("HI") ? shifted >> 32 : shifted));
  }

  // Handles "LOP3.LUT R3, R0, R9, RZ, 0x3c, !PT". Each bit of the table is the result for one combination of input
  // bits.
  Result combine() const {
    if (count() != 4 || !i_.has("LUT")) return word({});
    const Word a = read(0), b = read(1), c = read(2), table = read(3);
    if (!a || !b || !c || !table || *table > 255) return word({});
    std::uint32_t out = 0;
    for (std::uint32_t bit = 0; bit < 8; ++bit) {
      if ((*table >> bit & 1) == 0) continue;
      out |= ((bit & 4) != 0 ? *a : ~*a) & ((bit & 2) != 0 ? *b : ~*b) & ((bit & 1) != 0 ? *c : ~*c);
    }
    return word(out);
  }

  Result size() const {
    const Word a = read(0);
    if (!a || count() != 1) return word({});
    return word(static_cast<std::int32_t>(*a) < 0 ? 0 - *a : *a);
  }

  Result pick() const {
    const Word a = read(0), b = read(1);
    const bool plain_one = i_.opcode == i_.base() || i_.opcode == std::string(i_.base()) + ".U32";
    if (!a || !b || count() != 2 || parts_.conditions.size() != 1 || !plain_one) return word({});
    const auto least = operands_.truth(parts_.conditions[0]);
    if (!least) return word({});
    const bool less = i_.has("U32") ? *a < *b : static_cast<std::int32_t>(*a) < static_cast<std::int32_t>(*b);
    return word(less == *least ? *a : *b);
  }

  Result permute() const {
    if (count() != 3 || i_.opcode != i_.base()) return word({});
    const Word a = read(0), how = read(1), b = read(2);
    if (!a || !b || !how) return word({});
    const std::uint64_t both = *a | std::uint64_t{*b} << 32;
    std::uint32_t out = 0;
    for (std::uint32_t byte = 0; byte < 4; ++byte) {
      const std::uint32_t pick = *how >> (4 * byte) & 0xf;
      std::uint32_t value = static_cast<std::uint32_t>(both >> (8 * (pick & 7))) & 0xff;
      if ((pick & 8) != 0) value = (value & 0x80) != 0 ? 0xff : 0;
      out |= value << (8 * byte);
    }
    return word(out);
  }

  // Handles "SGXT R0, R1, 0x8". The result is the lowest 8 bits, sign-extended.
  Result extend() const {
    const Word a = read(0), bits = read(1);
    if (!a || !bits || *bits == 0 || *bits > 31 || i_.has("W")) return word({});
    const std::uint32_t up = *a << (32 - *bits);
    return word(i_.has("U32")
                    ? up >> (32 - *bits)
                    : static_cast<std::uint32_t>(static_cast<std::int32_t>(up) >> static_cast<int>(32 - *bits)));
  }

  // Handles "HFMA2 R5, -RZ, RZ, 1.875, 0". The result is a constant, given as two halves with the upper one first.
  Result halves() const {
    const bool is_fp16 = !i_.has("BF16") && !i_.has("BF16_V2");
    if (!is_fp16 || count() != 4 || parts_.values[0] != "-RZ" || parts_.values[1] != "RZ") return word({});
    const Word upper = half_bits(parts_.values[2]), lower = half_bits(parts_.values[3]);
    // The instruction adds each half to zero, which turns negative zero into positive zero.
    if (!upper || !lower || *upper == 0x8000 || *lower == 0x8000) return word({});
    return word(*upper << 16 | *lower);
  }

  const Instruction& i_;
  const Operands& operands_;
  const Parts parts_;
};

std::optional<bool> compare(const Instruction& i, const Operands& operands, const Parts& parts) {
  if (parts.values.size() != 2 || parts.conditions.size() != 1 || i.has("EX")) return std::nullopt;
  const bool wide = i.has("U64") || i.has("S64") || i.has("64");
  std::uint64_t sides[2] = {};
  for (std::size_t side = 0; side < 2; ++side) {
    const std::string_view operand = parts.values[side];
    const auto word = [&](std::uint32_t half) -> Word {
      if (operand == "RZ" || operand == "URZ") return 0;
      if (operand.find_first_of("|~") != std::string_view::npos) return std::nullopt;
      if (const Word number = immediate(operand, half)) return number;
      return operand.starts_with('-') ? std::nullopt : operands.word(operand, half);
    };
    const Word low = word(0), high = wide ? word(1) : Word(0);
    if (!low || !high) return std::nullopt;
    const bool is_unsigned = i.has("U32") || i.has("U64");
    sides[side] = wide ? *low | std::uint64_t{*high} << 32 : is_unsigned ? *low : extended(*low);
  }
  const bool is_unsigned = i.has("U32") || i.has("U64");
  const bool less =
      is_unsigned ? sides[0] < sides[1] : static_cast<std::int64_t>(sides[0]) < static_cast<std::int64_t>(sides[1]);
  const bool equal = sides[0] == sides[1];
  std::optional<bool> result;
  if (i.has("LT")) result = less;
  if (i.has("LE")) result = less || equal;
  if (i.has("GT")) result = !less && !equal;
  if (i.has("GE")) result = !less;
  if (i.has("EQ")) result = equal;
  if (i.has("NE")) result = !equal;
  const auto other = operands.truth(parts.conditions[0]);
  if (!result || !other) return std::nullopt;
  if (i.has("AND")) return *result && *other;
  if (i.has("OR")) return *result || *other;
  return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> immediate(std::string_view operand, std::uint32_t half) {
  const bool minus = operand.starts_with("-0x");
  if (minus) operand.remove_prefix(1);
  if (!operand.starts_with("0x")) return std::nullopt;
  operand.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(operand.data(), operand.data() + operand.size(), value, 16);
  if (error != std::errc() || rest != operand.data() + operand.size()) return std::nullopt;
  // We cannot tell whether a 32-bit number with its highest bit set is sign-extended or zero-extended.
  if (half != 0 && !minus && operand.size() <= 8 && value >= 0x80000000) return std::nullopt;
  if (minus) value = 0 - value;
  return static_cast<std::uint32_t>(value >> (32 * half));
}

Parts parts_of(const Instruction& i) {
  Parts parts;
  const auto& all = i.operands;
  const std::size_t first = first_value(i);
  const bool compares = i.base().ends_with("SETP");
  const std::size_t results = std::min<std::size_t>(first, 2);
  parts.results.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(results));
  std::size_t at = compares ? results : first;
  if (!compares && first < all.size()) parts.destination = all[at++];
  for (; at < all.size(); ++at) {
    if (!is_predicate(all[at])) {
      parts.values.push_back(all[at]);
    } else {
      (parts.values.empty() && !compares ? parts.carries : parts.conditions).push_back(all[at]);
    }
  }
  return parts;
}

Computed compute_word(const Instruction& i, std::uint32_t half, const Operands& operands) {
  // These instructions load four independent words.
  if (i.has("128") && is_any(i.base(), {"LDC", "LDCU", "ULDC"})) {
    const Parts parts = parts_of(i);
    return {Known::opcode, parts.values.empty() ? std::nullopt : operands.word(parts.values[0], half)};
  }
  const auto result = Calculation(i, operands).run();
  if (!result.value || half > (result.wide ? 1u : 0u)) return {result.known, std::nullopt};
  return {result.known, static_cast<std::uint32_t>(*result.value >> (32 * half))};
}

std::optional<bool> compute_predicate(const Instruction& i, std::string_view predicate, const Operands& operands) {
  const Parts parts = parts_of(i);
  const Slot wanted = predicate_slot(predicate);
  if (is_any(i.base(), {"ISETP", "UISETP"})) {
    const bool is_first = !parts.results.empty() && predicate_slot(parts.results[0]) == wanted;
    return is_first ? compare(i, operands, parts) : std::nullopt;
  }
  // If the instruction sets two carries, only their sum is known.
  const auto of_carry = [&](std::string_view each) { return predicate_slot(each) == wanted; };
  const auto named = std::count_if(parts.carries.begin(), parts.carries.end(),
                                   [](std::string_view each) { return predicate_slot(each) != kNone; });
  if (named != 1 || !std::any_of(parts.carries.begin(), parts.carries.end(), of_carry)) return std::nullopt;
  const auto result = Calculation(i, operands).run();
  if (!result.carry || *result.carry > 1) return std::nullopt;
  return *result.carry == 1;
}

}  // namespace cudadiag::sass
