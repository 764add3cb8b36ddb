#include "races/sass_instructions.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

namespace cudadiag::races {
namespace {

// Whether what an instruction makes may be an address because this operand is one: what is multiplied, shifted or
// counted with is a number.
bool may_pass_address(const Instruction& i, std::size_t first, std::size_t at) {
  std::string_view base = i.base();
  if (base.starts_with('U')) base.remove_prefix(1);
  std::vector<std::string_view> values;  // after the destination, without conditions
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

// The registers between the brackets that name a place: the last of "[R7], desc[UR6][R2.64+0x10]".
std::string_view brackets(const Instruction& i) {
  for (auto operand = i.operands.rbegin(); operand != i.operands.rend(); ++operand) {
    const std::size_t open = operand->rfind('[');
    if (open == std::string_view::npos || operand->find("c[0x") != std::string_view::npos) continue;
    const std::string_view rest = operand->substr(open + 1);
    return rest.substr(0, rest.find(']'));
  }
  return "";
}

}  // namespace

Instructions::Rule Instructions::rule_of(std::string_view base) {
  using I = Instructions;
  static const std::unordered_map<std::string_view, Rule> kRules = {
      {"CALL", &I::call},          {"LDC", &I::load_constant}, {"ULDC", &I::load_constant},
      {"LDCU", &I::load_constant}, {"LDL", &I::load_private},  {"LDS", &I::load_private},
      {"LDSM", &I::load_private},  {"STL", &I::store_private}, {"STS", &I::store_private},
      {"LDG", &I::load},           {"LD", &I::load},           {"LDGSTS", &I::copy_to_shared},
      {"STG", &I::store},          {"ST", &I::store},          {"ATOM", &I::atomic},
      {"ATOMG", &I::atomic},       {"RED", &I::reduce},        {"REDG", &I::reduce},
      {"PLOP3", &I::decide},       {"UPLOP3", &I::decide},     {"R2P", &I::decide},
      {"LDGMC", &I::escape},
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
  out.predicate = predicate_of(i.predicate);
  while (out.first < i.operands.size() && is_predicate(i.operands[out.first])) ++out.first;
  if (out.first < i.operands.size()) out.to = register_of(i.operands[out.first]);
  out.words = i.has("128") ? 4 : i.has("64") ? 2 : 1;
  return out;
}

Instructions::Instructions(const Program& program, ParameterBank bank, Calls calls, OriginSets& sets)
    : program_(program), bank_(bank), calls_(calls), sets_(sets) {
  decoded_.reserve(program.size());
  for (std::uint32_t at = 0; at < program.size(); ++at) decoded_.push_back(decode(program[at]));
}

void Instructions::step(std::uint32_t at, Registers& state) {
  const Decoded& decoded = decoded_[at];
  if (decoded.rule != nullptr) (this->*decoded.rule)({decoded, program_[at], state});
}

// ---- calls, conditions, numbers

// A function that lies elsewhere may do anything with the pointers that it is given; where they are passed, from R4
// on. One that lies here is gone through like a jump, with the registers as they are.
void Instructions::call(const Step& s) {
  if (program_.target_of(s.i) != nullptr || calls_ == Calls::harmless) return;
  for (std::uint32_t at = 4; at < 16; at += 2) note({s.state.held()[at], s.state.held()[at + 1]}, Mode::unknown);
}

// What an instruction decides is a new condition under an old name.
void Instructions::forget_conditions(const Step& s) {
  for (std::size_t at = 0; at < s.first; ++at) s.state.forget_condition(s.i.operands[at]);
}

void Instructions::decide(const Step& s) { forget_conditions(s); }

void Instructions::compute(const Step& s) {
  const Instruction& i = s.i;
  forget_conditions(s);
  if (s.to == kNone) return;
  // Carries come behind the result.
  for (std::size_t at = s.first + 1; at + 1 < i.operands.size() && at <= s.first + 2 && is_predicate(i.operands[at]);
       ++at) {
    if (!i.operands[at].starts_with('!')) s.state.forget_condition(i.operands[at]);
  }
  const bool wide = i.has("WIDE");
  const bool pair = i.has("64") && i.base() != "SHF";
  Halves made;
  for (std::size_t at = s.first + 1; at < i.operands.size(); ++at) {
    const std::string_view operand = i.operands[at];
    if (is_predicate(operand) || !may_pass_address(i, s.first, at)) continue;
    const bool is_pair = pair || (wide && at == s.first + 3);
    made.low = sets_.join(made.low, value(s, operand, 0));
    made.high = sets_.join(made.high, value(s, operand, is_pair ? 1 : 0));
  }
  s.state.set(s.to, made.low, s.predicate);
  if (wide || pair) s.state.set(s.to + 1, made.high, s.predicate);
}

// ---- constants, shared and local memory

// A word of constant bank 0, the `half`th 4 bytes from where the operand says; nothing that is no parameter.
OriginSets::Id Instructions::constant(std::string_view operand, std::uint32_t half) {
  const std::size_t at = operand.find("c[0x0][");
  if (at == std::string_view::npos) return 0;
  std::string_view place = operand.substr(at + 7);
  place = place.substr(0, place.find(']'));
  const std::size_t plus = place.find('+');
  const std::string_view head = place.substr(0, plus);
  const bool by_register = register_of(head) != kNone;
  const std::string_view tail = by_register ? plus == std::string_view::npos ? "0x0" : place.substr(plus + 1)
                                : head.starts_with("0x")         ? head
                                : plus == std::string_view::npos ? "0x0"
                                                                 : place.substr(plus + 1);
  const auto offset = parse_hex(tail);
  if (!offset) return by_register ? one(OriginSets::kTop) : 0;
  if (by_register) {
    if (*offset < bank_.offset) return one(OriginSets::kTop);
    return *offset >= bank_.offset + bank_.size ? 0 : one((*offset - bank_.offset + 4 * half) | OriginSets::kIndexed);
  }
  const std::uint32_t word = *offset + 4 * half;
  return word < bank_.offset || word >= bank_.offset + bank_.size ? 0 : one((word - bank_.offset) & ~3u);
}

// What an operand brings; `half`: of a pair or more the how-manieth register.
OriginSets::Id Instructions::value(const Step& s, std::string_view operand, std::uint32_t half) {
  if (operand.find("c[0x0]") != std::string_view::npos) return constant(operand, half);
  const std::uint32_t at = register_of(operand);
  return at == kNone ? 0 : s.state.get(at + half, s.predicate);
}

void Instructions::set_words(const Step& s, Id value) {
  if (s.to == kNone) return;
  for (std::uint32_t w = 0; w < s.words; ++w) s.state.set(s.to + w, value, s.predicate);
}

void Instructions::load_constant(const Step& s) {
  forget_conditions(s);
  if (s.to == kNone || s.first + 1 >= s.i.operands.size()) return;
  for (std::uint32_t w = 0; w < s.words; ++w) {
    s.state.set(s.to + w, value(s, s.i.operands[s.first + 1], w), s.predicate);
  }
}

void Instructions::load_private(const Step& s) {
  forget_conditions(s);
  set_words(s, pool_);
}

void Instructions::store_private(const Step& s) {
  const std::uint32_t from = s.i.operands.empty() ? kNone : register_of(s.i.operands.back());
  if (from == kNone) return;
  for (std::uint32_t w = 0; w < s.words; ++w) pool_ = sets_.join(pool_, s.state.get(from + w, s.predicate));
}

// ---- global memory

// "R2.64+0x10", "R2.U32+UR4", "UR4": the halves of an address.
Instructions::Halves Instructions::place(const Step& s) {
  Halves out;
  for (std::string_view text = brackets(s.i); !text.empty();) {
    const std::size_t plus = text.find('+');
    const std::string_view part = text.substr(0, plus);
    const std::uint32_t at = register_of(part);
    if (at != kNone) {
      const bool narrow = part.find(".U32") != std::string_view::npos;
      out.low = sets_.join(out.low, s.state.get(at, s.predicate));
      if (!narrow) out.high = sets_.join(out.high, s.state.get(at + 1, s.predicate));
    }
    text = plus == std::string_view::npos ? "" : text.substr(plus + 1);
  }
  return out;
}

// An address is made of a word whose lower half is in its lower half and whose upper half is in its upper; such words
// lie at multiples of 8.
void Instructions::note(const Halves& place, Mode mode) {
  if (!noting_) return;
  constexpr std::uint32_t kIndexed = OriginSets::kIndexed;
  CodeAccess access;
  access.mode = mode;
  const auto& low = sets_.of(place.low);
  const auto& high = sets_.of(place.high);
  for (const std::uint32_t value : low) {
    if (value == OriginSets::kTop) {
      access.anywhere = true;
    } else if ((value & ~kIndexed) % 8 == 0 && std::binary_search(high.begin(), high.end(), value + 4)) {
      access.origins.push_back({value & ~kIndexed, (value & kIndexed) != 0});
    }
  }
  if (access.anywhere || !access.origins.empty()) accesses_.insert(std::move(access));
}

// What memory holds is no word of the parameters.
void Instructions::load(const Step& s) {
  note(place(s), Mode::read);
  forget_conditions(s);
  set_words(s, 0);
}

void Instructions::copy_to_shared(const Step& s) { note(place(s), Mode::read); }

void Instructions::store(const Step& s) { note(place(s), Mode::write); }

void Instructions::atomic(const Step& s) {
  note(place(s), Mode::atomic);
  forget_conditions(s);
  set_words(s, 0);
}

void Instructions::reduce(const Step& s) { note(place(s), Mode::atomic); }

// Which of its operands are addresses, and which way the data go, is not looked into.
void Instructions::escape(const Step& s) {
  for (const std::string_view operand : s.i.operands) {
    for (std::size_t at = 0; at < operand.size(); ++at) {
      const bool starts =
          operand[at] == 'R' || (operand[at] == 'U' && at + 1 < operand.size() && operand[at + 1] == 'R');
      if (!starts || (at > 0 && operand[at - 1] != '[' && operand[at - 1] != '+')) continue;
      const std::uint32_t first = register_of(operand.substr(at));
      if (first == kNone) continue;
      note({s.state.get(first, s.predicate), s.state.get(first + 1, s.predicate)}, Mode::unknown);
    }
  }
}

}  // namespace cudadiag::races
