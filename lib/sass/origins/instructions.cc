#include "sass/origins/instructions.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace cudadiag::sass {
namespace {

using namespace origin;

constexpr std::uint32_t kStackPointer = 1;                         // R1
constexpr std::uint32_t kFirstArgument = 4, kEndOfArguments = 16;  // registers that hold arguments and results of
                                                                   // functions

// Returns whether the result can be an address if this operand is one. Factors and shift counts are never addresses.
bool may_pass_address(const Instruction& i, std::size_t first, std::size_t at) {
  const std::string_view base = without_u(i.base());
  std::vector<std::string_view> values;  // operands after the destination, except predicates
  std::size_t place = 0;
  for (std::size_t each = first + 1; each < i.operands.size(); ++each) {
    if (is_predicate(i.operands[each])) continue;
    if (each == at) place = values.size();
    values.push_back(i.operands[each]);
  }
  if (base == "IMAD") return place >= 2 || (place == 0 && values.size() > 1 && values[1] == "0x1");
  if (base == "LEA") return place == 1 || (place == 0 && values.back() == "0x0");
  constexpr std::string_view kNumbers[] = {"SHF",   "SHL",  "SHR",  "IMUL", "IMUL3", "BFE",  "BFI",  "BMSK",  "SGXT",
                                           "POPC",  "FLO",  "BREV", "IABS", "I2F",   "I2FP", "F2I",  "F2F",   "F2FP",
                                           "FADD",  "FMUL", "FFMA", "FSEL", "FMNMX", "FRND", "MUFU", "HADD2", "HMUL2",
                                           "HFMA2", "DADD", "DMUL", "DFMA", "IDP",   "HMMA", "IMMA", "DMMA",  "QGMMA"};
  return std::find(std::begin(kNumbers), std::end(kNumbers), base) == std::end(kNumbers);
}

bool is_constant(std::string_view operand) {
  return operand == "RZ" || operand == "URZ" || operand.starts_with("0x") || operand.starts_with("-0x");
}

bool is_product(const Instruction& i) {
  const std::string_view base = without_u(i.base());
  return (is_any(base, {"IMAD", "LEA", "IMUL"}) && !i.has("HI")) || base == "SHL" || (base == "SHF" && i.has("L"));
}

// Recognises instructions that invert all bits of a number, or all but the lowest. Examples are "LOP3.LUT R3, RZ, R3,
// RZ, 0x33, !PT" and "LOP3.LUT R2, R2, 0xfffffffc, RZ, 0x3c, !PT".
bool is_complement(const Instruction& i, std::size_t first) {
  if (!i.base().ends_with("LOP3") || i.operands.size() < first + 5) return false;
  const std::string_view how = i.operands[first + 4];
  const auto number = parse_hex(i.operands[first + 2]);
  return is_any(how, {"0xf", "0x33", "0x55"}) || (how == "0x3c" && number && *number >= 0x80000000);
}

// Returns the origin of a number that may be the distance between two descriptors; 0 for other numbers.
std::uint32_t number_origin(std::uint32_t value) {
  const bool near = value < 0x10000 || value >= 0xffff0000;
  return near && value % 16 == 0 ? kNumber | (value & kValue) : 0;
}

// Offsets in constant bank 0 where the driver stores the address of the parameters and the address of the bank. Code
// can read the parameters through these addresses, like memory. The offsets depend on the architecture. Compilers use
// the first address; sm_90 kernels of cuBLAS use the second.
struct OwnAddresses {
  std::uint32_t parameters = 0, bank = 0;
};

OwnAddresses own_addresses(std::uint32_t bank_offset) {
  if (bank_offset == 0x210) return {0x198, 0xc0};
  return bank_offset == 0x380 ? OwnAddresses{0x348, 0} : OwnAddresses{};
}

}  // namespace

Instructions::Rule Instructions::rule_of(std::string_view base) {
  using I = Instructions;
  static const std::unordered_map<std::string_view, Rule> kRules = {
      {"CALL", &I::call},
      {"PLOP3", &I::decide},
      {"UPLOP3", &I::decide},
      {"R2P", &I::decide},
      {"UR2UP", &I::decide},
      {"BRA", &I::nothing},
      {"MOV", &I::move},
      {"UMOV", &I::move},
      {"SEL", &I::move},
      {"USEL", &I::move},
      {"R2UR", &I::move},
      {"SHFL", &I::shuffle},
      {"IADD3", &I::add},
      {"UIADD3", &I::add},
      {"IADD", &I::add},
      {"UIADD", &I::add},
      {"VIADD", &I::add},
      {"HFMA2", &I::load_halves},
      {"S2R", &I::load_special},
      {"S2UR", &I::load_special},
      {"LDC", &I::load_constant},
      {"ULDC", &I::load_constant},
      {"LDCU", &I::load_constant},
      {"LDL", &I::load_local},
      {"LDS", &I::load_shared},
      {"LDSM", &I::load_shared},
      {"STL", &I::store_local},
      {"STS", &I::store_shared},
      {"STAS", &I::store_shared},
      {"LDG", &I::load},
      {"LD", &I::load},
      {"LDGSTS", &I::copy_to_shared},
      {"STG", &I::store},
      {"ST", &I::store},
      {"ATOM", &I::atomic},
      {"ATOMG", &I::atomic},
      {"RED", &I::reduce},
      {"REDG", &I::reduce},
      {"UBLKCP", &I::copy_bulk},
      {"UBLKRED", &I::reduce_bulk},
      {"UBLKPF", &I::nothing},
      {"UTMALDG", &I::load_tensor},
      {"UTMASTG", &I::store_tensor},
      {"UTMAREDG", &I::reduce_tensor},
      {"UTMAPF", &I::nothing},
      {"UTMACCTL", &I::nothing},
      {"UTMACMDFLUSH", &I::nothing},
      {"TEX", &I::read_texture},
      {"TLD", &I::read_texture},
      {"TLD4", &I::read_texture},
      {"TXD", &I::read_texture},
      {"SULD", &I::read_surface},
      {"SUST", &I::write_surface},
      {"SURED", &I::reduce_surface},
      {"LDGMC", &I::escape},
      {"CCTL", &I::nothing},
  };
  const auto known = kRules.find(base);
  if (known != kRules.end()) return known->second;
  if (base.ends_with("SETP")) return &I::decide;
  for (const std::string_view family : {"UBLK", "UTMA", "SUATOM", "MULTIMEM"}) {
    if (base.starts_with(family)) return &I::escape;
  }
  return &I::compute;
}

Instructions::Decoded Instructions::decode(const Instruction& i) {
  Decoded out;
  if (i.predicate == "!PT" || i.predicate == "!UPT") return out;
  out.rule = rule_of(i.base());
  if (i.base() == "IMAD" && i.has("MOV")) out.rule = &Instructions::move;
  if (i.base() == "IMAD" && i.has("IADD")) out.rule = &Instructions::add;
  const auto is_descriptor = [](std::string_view operand) { return operand.starts_with("desc["); };
  if (out.rule == &Instructions::compute && std::any_of(i.operands.begin(), i.operands.end(), is_descriptor)) {
    out.rule = &Instructions::use_memory;
  }
  out.predicate = predicate_of(i.predicate);
  while (out.first < i.operands.size() && is_predicate(i.operands[out.first])) ++out.first;
  if (out.first < i.operands.size()) out.to = register_of(i.operands[out.first]);
  out.words = i.has("128") ? 4 : i.has("64") ? 2 : 1;
  return out;
}

Instructions::Instructions(const Program& program, ParameterBank bank, Calls calls, ZeroWords zeros, OriginSets& sets)
    : program_(program), bank_(bank), calls_(calls), zeros_(zeros), sets_(sets) {
  decoded_.reserve(program.size());
  bool used = false, moved_late = false;
  for (std::uint32_t at = 0; at < program.size(); ++at) {
    const Instruction& i = program[at];
    decoded_.push_back(decode(i));
    used |= is_any(i.base(), {"LDL", "STL"});
    const bool wide = decoded_.back().words > 1 || i.has("WIDE");
    moved_late |= used && (decoded_.back().to == kStackPointer || (decoded_.back().to + 1 == kStackPointer && wide));
  }
  stack_holds_still_ = !moved_late;
}

void Instructions::step(std::uint32_t at, Registers& state) {
  const Decoded& decoded = decoded_[at];
  at_ = at;
  if (decoded.rule != nullptr) (this->*decoded.rule)({decoded, program_[at], state});
}

// ---- calls, conditions, numbers

// An external function may access memory through any pointer that it receives, in registers or in local memory, and may
// change local memory. We assume that it returns none of these pointers. A function in the same code is followed like a
// jump.
void Instructions::call(const Step& s) {
  if (program_.target_of(s.i) != nullptr) return;
  if (calls_ == Calls::anything) {
    for (std::uint32_t at = kFirstArgument; at < kEndOfArguments; at += 2) {
      note({s.state.held()[at], s.state.held()[at + 1]}, Mode::unknown);
    }
    note({pool_, pool_}, Mode::unknown);
    for (std::uint32_t at = kStack; at < kRegisters; ++at) s.state.set(at, 0, s.predicate);
  }
  for (std::uint32_t at = kFirstArgument; at < kEndOfArguments; ++at) s.state.set(at, 0, s.predicate);
}

// Forgets the values that depend on a predicate that the instruction sets. Among the operands, carry predicates follow
// the result.
void Instructions::forget_conditions(const Step& s) {
  const auto& operands = s.i.operands;
  for (std::size_t at = 0; at < s.first && at < 2; ++at) s.state.forget_condition(operands[at]);
  if (s.rule == &Instructions::decide) return;
  for (std::size_t at = s.first + 1; at < operands.size() && at <= s.first + 2 && is_predicate(operands[at]); ++at) {
    if (!operands[at].starts_with('!')) s.state.forget_condition(operands[at]);
  }
}

void Instructions::decide(const Step& s) {
  if (s.first == 0) return s.state.forget_conditions();  // sets all predicates: "R2P PR, R3, 0x7f"
  forget_conditions(s);
}

// The result is one of the operands, unchanged.
void Instructions::move(const Step& s) {
  forget_conditions(s);
  if (s.to == kNone) return;
  std::vector<Id> moved;
  for (std::size_t at = s.first + 1; at < s.i.operands.size(); ++at) {
    if (is_predicate(s.i.operands[at]) || !may_pass_address(s.i, s.first, at)) continue;
    const bool fresh = moved.empty();
    moved.resize(s.words);
    for (std::uint32_t w = 0; w < s.words; ++w) {
      const Id each = value(s, s.i.operands[at], w);
      moved[w] = fresh ? each : sets_.join(moved[w], each);
    }
  }
  for (std::uint32_t w = 0; w < moved.size(); ++w) s.state.set(s.to + w, moved[w], s.predicate);
  if (moved.empty()) set_words(s, 0);
}

// A register's set covers its values in all threads, so a shuffle is just a copy.
void Instructions::shuffle(const Step& s) {
  forget_conditions(s);
  if (s.to != kNone && s.first + 1 < s.i.operands.size()) {
    s.state.set(s.to, value(s, s.i.operands[s.first + 1], 0), s.predicate);
  }
}

Lead Instructions::lead_of(std::string_view operand, Id id) const {
  const bool negative = operand.starts_with('-');
  if (sets_.has(id, kAddend)) return negative ? Lead::back : Lead::away;
  if (sets_.has(id, kBefore)) return negative ? Lead::anywhere : Lead::back;
  if (operand == "0x0" || sets_.is_zero(id)) return Lead::nowhere;
  const auto number = parse_hex(operand.substr(negative ? 1 : 0));
  if (number) return negative || *number >= 0x80000000 ? Lead::back : Lead::anywhere;
  return negative ? Lead::down : Lead::anywhere;
}

Instructions::Term Instructions::product(const Step& s, const std::vector<std::string_view>& factors) {
  const bool multiplied = s.i.base().ends_with("IMAD");
  Term made;
  bool strict = is_product(s.i), any = false, negative = false;
  for (const std::string_view factor : factors) {
    const Id id = value(s, factor, 0);
    const Lead lead = lead_of(factor, id);
    if (multiplied && lead == Lead::nowhere) return {};
    if (sets_.has(id, kThread)) made.id = sets_.one(kThread);
    const bool constant = is_constant(factor) || sets_.is_constant(id);
    negative ^= lead == Lead::back || lead == Lead::down;
    any |= !is_constant(factor);
    strict &= constant || lead == Lead::away || lead == Lead::back;
  }
  if (any) made.lead = negative ? Lead::down : Lead::anywhere;
  if (any && strict) made.lead = negative ? Lead::back : Lead::away;
  made.id = sets_.together(made.id, 0, made.lead);
  return made;
}

// Returns how the sum of all terms except `without` moves an address.
Lead Instructions::lead_of_sum(const std::vector<Term>& terms, std::size_t without) {
  bool away = false, anywhere = false, back = false, down = false;
  for (std::size_t at = 0; at < terms.size(); ++at) {
    if (at == without) continue;
    const Term& term = terms[at];
    away |= term.lead == Lead::away;
    anywhere |= term.lead == Lead::anywhere;
    back |= term.lead == Lead::back;
    down |= term.lead == Lead::down || (term.lead == Lead::back && !term.constant);
  }
  if (away) return down ? Lead::anywhere : Lead::away;
  if (anywhere) return Lead::anywhere;
  return back ? Lead::back : down ? Lead::down : Lead::nowhere;
}

std::vector<OriginSets::Id> Instructions::led_by_others(const std::vector<Term>& terms) {
  std::vector<Id> out;
  for (std::size_t at = 0; at < terms.size(); ++at) {
    out.push_back(sets_.led(terms[at].id, lead_of_sum(terms, at)));
  }
  return out;
}

// Adds the terms. The sum of a known place and a known number is a known place.
void Instructions::add(const Step& s) {
  const bool pair = s.i.has("64");
  if (s.i.has("X")) return compute(s);
  forget_conditions(s);
  if (s.to == kNone) return;
  std::vector<Term> terms;
  Id high = 0;
  for (std::size_t at = s.first + 1; at < s.i.operands.size(); ++at) {
    const std::string_view operand = s.i.operands[at];
    if (is_predicate(operand) || !may_pass_address(s.i, s.first, at)) continue;
    const bool taken_away = operand.starts_with('-') && !operand.starts_with("-0x");
    const Id id = value(s, operand, 0);
    terms.push_back({taken_away ? sets_.blurred(id) : id, lead_of(operand, id), is_constant(operand)});
    if (pair) high = sets_.join(high, value(s, operand, 1));
  }
  std::vector<Id> lower = led_by_others(terms);
  // Add places first, because the sum of two numbers is not tracked.
  std::stable_partition(lower.begin(), lower.end(), [&](Id id) { return !sets_.are_numbers(id); });
  Id low = 0;
  for (std::size_t each = 0; each < lower.size(); ++each) low = each == 0 ? lower[0] : sets_.sum(low, lower[each]);
  s.state.set(s.to, sets_.together(low, 0, lead_of_sum(terms, terms.size())), s.predicate);
  if (pair) s.state.set(s.to + 1, sets_.blurred(high), s.predicate);
}

void Instructions::compute(const Step& s) {
  const Instruction& i = s.i;
  forget_conditions(s);
  if (s.to == kNone) return;
  const bool wide = i.has("WIDE");
  const bool pair = (i.has("64") || i.has("U64") || i.has("S64")) && !is_any(i.base(), {"SHF", "USHF"});
  std::vector<std::string_view> numbers;
  std::vector<Term> terms;
  Id high = 0;
  for (std::size_t at = s.first + 1; at < i.operands.size(); ++at) {
    const std::string_view operand = i.operands[at];
    if (is_predicate(operand)) continue;
    if (!may_pass_address(i, s.first, at)) {
      numbers.push_back(operand);
      continue;
    }
    const Id id = value(s, operand, 0);
    const bool is_pair = pair || (wide && at == s.first + 3);
    terms.push_back({id, lead_of(operand, id), is_constant(operand)});
    high = sets_.join(high, is_pair ? value(s, operand, 1) : id);
  }
  s.state.set(s.to, sets_.blurred(made_of(s, terms, product(s, numbers))), s.predicate);
  if (wide || pair) s.state.set(s.to + 1, sets_.blurred(high), s.predicate);
}

// Returns the origins of the result's lower half. A result that is not a sum is either one of the terms, or a
// combination of their bits.
OriginSets::Id Instructions::made_of(const Step& s, std::vector<Term> terms, const Term& product) {
  const std::string_view base = without_u(s.i.base());
  Id low = 0;
  if (is_any(base, {"IADD3", "IADD", "VIADD", "IMAD", "LEA"}) || terms.empty()) {
    terms.push_back(product);
    for (const Id each : led_by_others(terms)) low = sets_.together(low, each, Lead::nowhere);
    return sets_.together(low, 0, lead_of_sum(terms, terms.size()));
  }
  for (std::size_t at = 0; at < terms.size(); ++at) low = at == 0 ? terms[0].id : sets_.join(low, terms[at].id);
  if (is_any(base, {"IMNMX", "VIMNMX"})) return low;
  return sets_.together(low, 0, is_complement(s.i, s.first) ? Lead::back : Lead::nowhere);
}

// Handles "HFMA2 R5, -RZ, RZ, 1.875, 0", which loads the two halves of a constant.
void Instructions::load_halves(const Step& s) {
  const auto& operands = s.i.operands;
  if (operands.size() < 5 || operands[1] != "-RZ" || operands[2] != "RZ") return compute(s);
  const bool zero = operands[3] == "0" && operands[4] == "0";
  if (s.to != kNone) s.state.set(s.to, sets_.one(zero ? number_origin(0) : kConstant), s.predicate);
}

// Handles "S2R R7, SR_CTAID.X".
void Instructions::load_special(const Step& s) {
  const std::string_view what = s.first + 1 < s.i.operands.size() ? s.i.operands[s.first + 1] : "";
  const bool is_number = what.starts_with("SR_TID") || what.starts_with("SR_CTAID") || what == "SR_LANEID";
  if (s.to != kNone) s.state.set(s.to, is_number ? sets_.one(kThread) : 0, s.predicate);
}

// ---- constants

OriginSets::Id Instructions::parameter(std::uint32_t word) {
  if (word / 4 < 32 && (zeros_ >> word / 4 & 1) != 0) return sets_.one(number_origin(0));
  return sets_.together(sets_.one(word), 0, Lead::away);
}

// Returns the origin of an array element in the parameters. If the index comes from thread or block numbers, we assume
// that every element is used.
OriginSets::Id Instructions::indexed(Id index, std::uint32_t offset) {
  const bool by_thread = sets_.has(index, kThread);
  const Id word = sets_.one(offset | kIndexed | (by_thread ? 0 : kChosen));
  return by_thread ? sets_.join(word, sets_.one(kThread)) : word;
}

// Returns the origin of a word in constant bank 0: the one `half` words after the operand's offset.
OriginSets::Id Instructions::constant(const Step& s, std::string_view operand, std::uint32_t half) {
  if (operand.find("c[0x0][") == std::string_view::npos) return 0;
  const auto place = parse_constant(operand);
  const bool by_register =
      operand.find("c[0x0][R") != std::string_view::npos || operand.find("c[0x0][U") != std::string_view::npos;
  if (!place) return by_register ? sets_.one(kTop) : 0;
  const std::uint32_t offset = place->offset;
  if (place->index != kNone) {
    if (offset < bank_.offset) return sets_.one(kTop);
    if (offset >= bank_.offset + bank_.size) return 0;
    return indexed(s.state.get(place->index, s.predicate), offset - bank_.offset + 4 * half);
  }
  const std::uint32_t word = offset + 4 * half;
  const OwnAddresses own = own_addresses(bank_.offset);
  for (const std::uint32_t its : {own.parameters, own.bank}) {
    if (its == 0) continue;
    if (word == its) return sets_.one(kPlace | (its == own.bank ? (0 - bank_.offset) & kValue : 0));
    if (word == its + 4) return sets_.one(kUpper);
  }
  return word < bank_.offset || word >= bank_.offset + bank_.size ? 0 : parameter((word - bank_.offset) & ~3u);
}

// Returns the origins of an operand. `half` selects a register of a pair or of a larger group.
OriginSets::Id Instructions::value(const Step& s, std::string_view operand, std::uint32_t half) {
  if (operand.find("c[0x0]") != std::string_view::npos) return constant(s, operand, half);
  const std::uint32_t at = register_of(operand);
  if (at != kNone) return s.state.get(at + half, s.predicate);
  if (operand == "RZ" || operand == "URZ") return sets_.one(number_origin(0));
  const bool negative = operand.starts_with("-0x");
  const auto number = parse_hex(operand.substr(negative ? 1 : 0));
  if (!number || (negative && half != 0)) return 0;
  const std::uint32_t origin = number_origin(half != 0 ? 0 : negative ? 0 - *number : *number);
  return sets_.one(origin == 0 ? kConstant : origin);
}

void Instructions::load_constant(const Step& s) {
  forget_conditions(s);
  if (s.to == kNone || s.first + 1 >= s.i.operands.size()) return;
  for (std::uint32_t w = 0; w < s.words; ++w) {
    s.state.set(s.to + w, value(s, s.i.operands[s.first + 1], w), s.predicate);
  }
}

}  // namespace cudadiag::sass
