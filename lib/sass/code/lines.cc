#include "sass/code/lines.h"

#include <algorithm>
#include <charconv>

namespace cudadiag::sass {

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::uint32_t> number(std::string_view text, int base) {
  std::uint32_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view without_signs(std::string_view operand) {
  while (!operand.empty() && std::string_view("-+~|!").find(operand.front()) != std::string_view::npos) {
    operand.remove_prefix(1);
  }
  return operand;
}

}  // namespace

bool Instruction::has(std::string_view modifier) const {
  for (std::size_t at = opcode.find('.'); at != std::string_view::npos;) {
    const std::size_t next = opcode.find('.', at + 1);
    if (opcode.substr(at + 1, next == std::string_view::npos ? next : next - at - 1) == modifier) return true;
    at = next;
  }
  return false;
}

std::string_view without_u(std::string_view base) {
  if (base.starts_with('U')) base.remove_prefix(1);
  return base;
}

bool is_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<std::uint32_t> parse_hex(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  return number(text.substr(2), 16);
}

std::optional<ConstantPlace> parse_constant(std::string_view operand) {
  constexpr std::string_view kBank = "c[0x0][";
  const std::size_t at = operand.find(kBank);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view place = operand.substr(at + kBank.size());
  place = place.substr(0, place.find(']'));
  const std::size_t plus = place.find('+');
  const std::string_view head = place.substr(0, plus);
  const std::uint32_t index = register_of(head);
  const bool is_number = head.starts_with("0x");
  if (!is_number && plus == std::string_view::npos) return ConstantPlace{index, 0};
  const auto offset = parse_hex(is_number ? head : place.substr(plus + 1));
  return offset ? std::optional(ConstantPlace{index, *offset}) : std::nullopt;
}

std::string_view address_in(std::string_view operand) {
  const std::size_t open = operand.rfind('[');
  if (open == std::string_view::npos || operand.find("c[0x") != std::string_view::npos) return "";
  const std::string_view rest = operand.substr(open + 1);
  return rest.substr(0, rest.find(']'));
}

std::vector<std::string_view> terms_in(std::string_view address) {
  std::vector<std::string_view> terms;
  while (!address.empty()) {
    const std::size_t plus = address.find('+');
    terms.push_back(address.substr(0, plus));
    address = plus == std::string_view::npos ? "" : address.substr(plus + 1);
  }
  return terms;
}

std::uint32_t register_of(std::string_view operand) {
  operand = without_signs(operand);
  const std::uint32_t base = operand.starts_with("UR") ? kUniform : 0;
  if (!operand.starts_with(base != 0 ? "UR" : "R")) return kNone;
  operand.remove_prefix(base != 0 ? 2 : 1);
  const std::size_t end = operand.find_first_not_of("0123456789");
  const auto index = number(operand.substr(0, end), 10);
  return index && *index < 255 ? base + *index : kNone;
}

bool is_predicate(std::string_view operand) {
  operand = without_signs(operand);
  if (operand.starts_with('U')) operand.remove_prefix(1);
  return operand.size() == 2 && operand[0] == 'P' && (operand[1] == 'T' || (operand[1] >= '0' && operand[1] <= '9'));
}

std::optional<Instruction> parse_instruction(std::string_view line) {
  line = trim(line);
  const std::size_t end_of_address = line.find("*/");
  const std::size_t end = line.rfind(';');
  if (!line.starts_with("/*") || end_of_address == std::string_view::npos || end == std::string_view::npos ||
      end < end_of_address + 2) {
    return std::nullopt;
  }
  const auto address = number(line.substr(2, end_of_address - 2), 16);
  if (!address) return std::nullopt;
  Instruction instruction;
  instruction.address = *address;
  std::string_view rest = trim(line.substr(end_of_address + 2, end - end_of_address - 2));
  if (rest.starts_with('@')) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    instruction.predicate = rest.substr(1, space - 1);
    rest = trim(rest.substr(space));
  }
  const std::size_t space = rest.find(' ');
  instruction.opcode = rest.substr(0, space);
  if (instruction.opcode.empty()) return std::nullopt;
  rest = space == std::string_view::npos ? "" : trim(rest.substr(space));
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    instruction.operands.push_back(trim(rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  return instruction;
}

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
