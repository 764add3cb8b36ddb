#include "sass/code/written.h"

#include <algorithm>

namespace cudadiag::sass {
namespace {

constexpr std::uint32_t kUnknownWidth = 8;

bool is_in(std::uint32_t slot, std::uint32_t first, std::uint32_t count) {
  if (first == kNone || slot < first) return false;
  const std::uint32_t end = first >= kUniform ? kStack : kUniform;
  return slot < std::min(first + count, end);
}

bool writes_no_register(std::string_view base) {
  return base.ends_with("SETP") ||
         is_any(base, {"RET",  "BRX",  "JMX",      "BRXU",      "JMXU",  "CALL",   "BSSY", "BSYNC", "BREAK", "BAR",
                       "FCHK", "EXIT", "WARPSYNC", "NANOSLEEP", "YIELD", "DEPBAR", "R2P",  "BRA",   "PLOP3", "NOP"});
}

// `base` has no leading U, which marks operations on uniform registers.
bool writes_one(std::string_view base) {
  return is_any(base,
                {"MOV",   "SEL",   "IADD3", "IADD",  "IMAD",  "IMUL",  "LEA",    "LOP3",   "LOP",  "SHF",  "SHL",
                 "SHR",   "PRMT",  "FADD",  "FMUL",  "FFMA",  "FSEL",  "FMNMX",  "FMNMX3", "MUFU", "I2FP", "I2F",
                 "I2I",   "F2I",   "F2F",   "F2FP",  "FRND",  "IABS",  "IMNMX",  "VIMNMX", "POPC", "FLO",  "BREV",
                 "SGXT",  "BMSK",  "VIADD", "S2R",   "S2UR",  "R2UR",  "LDC",    "LDCU",   "LDL",  "LDS",  "LDG",
                 "LD",    "ATOM",  "ATOMG", "ATOMS", "HFMA2", "HADD2", "HMUL2",  "HSET2",  "FSET", "VOTE", "VOTEU",
                 "MATCH", "REDUX", "SHFL",  "P2R",   "P2UR",  "BMOV",  "FSWZADD"});
}

}  // namespace

Slot predicate_slot(std::string_view operand) {
  while (!operand.empty() && (operand.front() == '!' || operand.front() == '-')) operand.remove_prefix(1);
  const bool uniform = operand.starts_with('U');
  if (uniform) operand.remove_prefix(1);
  if (operand.size() != 2 || operand[0] != 'P' || operand[1] < '0' || operand[1] > '9') return kNone;
  return (uniform ? kFirstUniformPredicate : kFirstPredicate) + static_cast<Slot>(operand[1] - '0');
}

bool Written::has(Slot slot) const {
  if (everything) return true;
  if (is_predicate_slot(slot)) return ((predicates >> (slot - kFirstPredicate)) & 1) != 0;
  return is_in(slot, first, count) || is_in(slot, second, kUnknownWidth);
}

std::uint32_t width_of_result(const Instruction& i) {
  std::string_view base = i.base();
  if (writes_no_register(base)) return 0;
  if (base.ends_with("MMA") || base.starts_with("LDTM")) return kUniform;
  if (base == "CS2R") return i.has("32") ? 1 : 2;
  if (is_any(base, {"LEPC", "DADD", "DMUL", "DFMA", "FADD2", "FMUL2", "FFMA2"})) return 2;
  if (base.starts_with('U')) base.remove_prefix(1);
  if (!writes_one(base) || i.has("256")) return kUnknownWidth;
  if (i.has("128")) return 4;
  if (base == "SHF") return 1;
  return i.has("WIDE") || i.opcode.find("64") != std::string_view::npos ? 2 : 1;
}

std::size_t first_value(const Instruction& i) {
  const auto found = std::find_if_not(i.operands.begin(), i.operands.end(), is_predicate);
  return static_cast<std::size_t>(found - i.operands.begin());
}

Written written_by(const Instruction& i) {
  Written out;
  const std::string_view base = i.base();
  // Does not include registers that a called function writes.
  if (is_any(base, {"CALL", "SUST", "SURED"})) return out;
  const std::size_t first = first_value(i);
  const auto add_predicate = [&out](std::string_view operand) {
    const Slot slot = operand.starts_with('!') ? kNone : predicate_slot(operand);
    if (slot != kNone) out.predicates |= 1u << (slot - kFirstPredicate);
  };
  for (std::size_t at = 0; at < std::min<std::size_t>(first, 2); ++at) add_predicate(i.operands[at]);
  if (is_any(base, {"R2P", "UR2UP"})) out.predicates = ~0u;
  if (base.ends_with("SETP") || first == i.operands.size()) return out;
  for (std::size_t at = first + 1; at < i.operands.size() && at <= first + 2 && is_predicate(i.operands[at]); ++at) {
    add_predicate(i.operands[at]);
  }
  out.count = width_of_result(i);
  out.first = out.count == 0 ? kNone : register_of(i.operands[first]);
  const bool texture = base.starts_with("T") || base.starts_with("SU");
  if ((texture || i.has("256")) && first + 1 < i.operands.size()) {
    out.second = register_of(i.operands[first + 1]);
    if (texture) out.count = kUnknownWidth;
  }
  return out;
}

}  // namespace cudadiag::sass
