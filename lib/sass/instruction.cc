#include "sass/instruction.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

namespace cudadiag::sass {
namespace {

constexpr std::uint32_t kUnknownWidth = 8;
constexpr std::string_view kSigns = "-+~|!";

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <typename Number = std::uint32_t>
std::optional<Number> number(std::string_view text, int base) {
  Number value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

// Splits the text at each separator, and calls `visit` with each part.
template <typename Visit>
void each_part(std::string_view text, char separator, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    visit(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
}

std::string_view without_signs(std::string_view operand) {
  operand.remove_prefix(std::min(operand.find_first_not_of(kSigns), operand.size()));
  return operand;
}

// Returns the text in the last pair of brackets: "R2.64+0x10" in "desc[UR6][R2.64+0x10]".
std::string_view address_in(std::string_view operand) {
  const std::size_t open = operand.rfind('[');
  if (open == std::string_view::npos || operand.find("c[0x") != std::string_view::npos) return "";
  const std::string_view rest = operand.substr(open + 1);
  return rest.substr(0, rest.find(']'));
}

// Reads both halves of a number of 64 bits, such as "-0x10". The upper half of 32 bits with the highest bit set is
// unknown, because we cannot tell whether the number has a sign.
bool read_number(std::string_view text, Operand& out) {
  const bool minus = text.starts_with("-0x");
  if (!minus && !text.starts_with("0x")) return false;
  const std::string_view digits = text.substr(minus ? 3 : 2);
  auto value = number<std::uint64_t>(digits, 16);
  if (!value) return false;
  const bool unsure = !minus && digits.size() <= 8 && *value >= 0x80000000;
  if (minus) *value = 0 - *value;
  out.kind = Operand::Kind::number;
  out.number[0] = static_cast<std::uint32_t>(*value);
  if (!unsure) out.number[1] = static_cast<std::uint32_t>(*value >> 32);
  return true;
}

// Reads a place in constant bank 0 or 4: "c[0x0][0x210]", "c[0x0][R2+0x210]", "c[0x4][RZ]".
bool read_bank(std::string_view text, Operand& out) {
  constexpr std::string_view kBank = "c[0x0][", kVariables = "c[0x4][";
  const bool variable = text.find(kVariables) != std::string_view::npos;
  const std::size_t at = text.find(variable ? kVariables : kBank);
  if (at == std::string_view::npos) return false;
  std::string_view place = text.substr(at + kBank.size());
  place = place.substr(0, place.find(']'));
  const std::size_t plus = place.find('+');
  const std::string_view head = place.substr(0, plus);
  const bool is_number = head.starts_with("0x");
  out.slot = is_number ? kNone : register_of(head);
  const bool whole = !is_number && plus == std::string_view::npos;
  const auto offset = whole ? 0 : parse_hex(is_number ? head : place.substr(plus + 1));
  out.offset = offset.value_or(0);
  const bool by_register = head.starts_with('R') || head.starts_with('U');
  out.kind = offset ? Operand::Kind::bank : by_register ? Operand::Kind::unclear : Operand::Kind::other;
  if (variable) out.kind = offset && out.slot == kNone ? Operand::Kind::variable : Operand::Kind::other;
  return true;
}

// Parses a number that half precision can represent exactly, and returns its bits.
std::optional<std::uint32_t> half_bits(std::string_view text) {
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

// Turns "HFMA2 R5, -RZ, RZ, 1.875, 0" into a move. The result is a constant, given as two halves with the upper one
// first. The instruction adds each half to zero, which turns negative zero into positive zero.
void read_halves(Instruction& i) {
  const auto& operands = i.operands;
  if (operands.size() != 5 || operands[1] != "-RZ" || operands[2] != "RZ") return;
  const auto upper = half_bits(operands[3]), lower = half_bits(operands[4]);
  if (!upper || !lower || *upper == 0x8000 || *lower == 0x8000) return;
  if ((i.has<"BF16">() || i.has<"BF16_V2">()) && (*upper != 0 || *lower != 0)) return;
  i.op = Op::move;
  i.values.assign(1, {});
  i.values[0].kind = Operand::Kind::number;
  i.values[0].number = {*upper << 16 | *lower, 0};
}

std::uint32_t width_of_result(const Instruction& i) {
  switch (i.code->result) {
    case Result::none:
      return 0;
    case Result::tile:
      return kUniform;
    case Result::two:
      return i.has<"32">() ? 1 : 2;
    case Result::many:
      return kUnknownWidth;
    case Result::one:
      break;
  }
  if (i.has<"256">()) return kUnknownWidth;
  if (i.has<"128">()) return 4;
  if (i.op == Op::shift) return 1;
  return i.has<"WIDE">() || i.opcode.find("64") != std::string_view::npos ? 2 : 1;
}

// `first` is the index of the first operand that is not a predicate. Does not include registers that a called function
// writes.
Written written_by(const Instruction& i, std::size_t first) {
  Written out;
  if (i.op >= Op::meet || (i.code->shape == Shape::surface && i.code->kind != AccessKind::load)) return out;
  const auto add_predicate = [&out](const Condition& each) {
    if (each.slot != kNone && !each.negated) out.predicates |= 1u << (each.slot - kFirstPredicate);
  };
  for (const Condition& each : i.results) add_predicate(each);
  if (i.op == Op::set_predicates && first == 0) out.predicates = ~0u;
  if (i.base().ends_with("SETP") || first == i.operands.size()) return out;
  for (std::size_t at = first + 1; at < i.operands.size() && at <= first + 2 && is_predicate(i.operands[at]); ++at) {
    add_predicate(condition_of(i.operands[at]));
  }
  out.count = width_of_result(i);
  out.first = out.count == 0 ? kNone : register_of(i.operands[first]);
  const bool texture = i.opcode.starts_with("T") || i.opcode.starts_with("SU");
  if ((texture || i.has<"256">()) && first + 1 < i.operands.size()) {
    out.second = register_of(i.operands[first + 1]);
    if (texture) out.count = kUnknownWidth;
  }
  return out;
}

// Sorts the operands by role.
std::size_t read_operands(Instruction& i) {
  const auto& all = i.operands;
  const auto found = std::ranges::find_if_not(all, is_predicate);
  const auto first = static_cast<std::size_t>(found - all.begin());
  for (std::size_t at = 0; at < std::min<std::size_t>(first, 2); ++at) i.results.push_back(condition_of(all[at]));
  const bool has_destination = i.code->result != Result::none;
  for (std::size_t at = has_destination ? first + 1 : i.results.size(); at < all.size(); ++at) {
    if (!is_predicate(all[at])) {
      i.values.push_back(operand_of(all[at]));
    } else {
      (i.values.empty() && has_destination ? i.carries : i.conditions).push_back(condition_of(all[at]));
    }
  }
  return first;
}

// Returns the text of the global address or, for a tensor copy, of the descriptor's address.
std::string_view place_of(const Instruction& i) {
  const auto in = [&](std::size_t operand) {
    return operand < i.operands.size() ? address_in(i.operands[operand]) : std::string_view();
  };
  switch (i.code->shape) {
    case Shape::plain:
      for (std::size_t at = i.operands.size(); at-- > 0;) {
        if (const std::string_view text = in(at); !text.empty()) return text;
      }
      return "";
    case Shape::bulk:
      if (i.opcode.find(".G.S") != std::string_view::npos) return in(0);
      return i.code->kind == AccessKind::copy && i.opcode.find(".S.G") != std::string_view::npos ? in(1) : "";
    case Shape::box:
      return in(1);
    default:
      return "";
  }
}

std::uint32_t bytes_of(const Instruction& i) {
  if (i.code->shape == Shape::bulk || i.code->shape == Shape::texture) return 0;
  if (i.base() == "LDSM" || i.base() == "STSM") return 16;
  if (i.has<"F32x4">() || i.has<"F16x8">() || i.has<"BF16x8">()) return 16;
  if (i.has<"F32x2">() || i.has<"F16x4">() || i.has<"BF16x4">()) return 8;
  if (i.has<"U8">() || i.has<"S8">()) return 1;
  if (i.has<"U16">() || i.has<"S16">() || i.has<"F16">() || i.has<"BF16">()) return 2;
  if (i.has<"256">()) return 32;
  if (i.has<"128">()) return 16;
  if (i.has<"64">() || i.has<"U64">() || i.has<"S64">() || i.has<"F64">()) return 8;
  return 4;
}

void read_address(Instruction& i) {
  const std::string_view place = place_of(i);
  std::size_t registers = 0;
  each_part(place, '+', [&](std::string_view part) {
    AddressTerm& term = i.place.emplace_back();
    const std::string_view name = part.substr(0, part.find('.'));
    term.value = operand_of(name);
    registers += term.value.kind == Operand::Kind::number && !name.ends_with("RZ") ? 0 : 1;
  });
  i.readable = !i.place.empty() && !i.relocated;
  std::size_t at = 0;
  const bool wide = i.code->space == Space::global || i.code->space == Space::generic;
  each_part(place, '+', [&](std::string_view part) {
    AddressTerm& term = i.place[at++];
    const std::size_t dot = part.find('.');
    const std::string_view suffix = dot == std::string_view::npos ? "" : part.substr(dot);
    using enum AddressTerm::Width;
    const bool number = term.value.kind == Operand::Kind::number;
    if (number || suffix == ".64") term.width = pair;
    if (!number && suffix.empty() && wide) term.width = registers == 1 ? pair : unsure;
    if (suffix == ".X4" || suffix == ".X8" || suffix == ".X16") term.factor = *sass::number(suffix.substr(2), 10);
    const bool known_suffix = suffix.empty() || suffix == ".64" || suffix == ".U32" || (term.factor != 1 && !wide);
    i.readable &= known_suffix && (number || (term.value.kind == Operand::Kind::slot && term.value.is_plain()));
  });
}

}  // namespace

bool Written::has(Slot slot) const {
  if (everything) return true;
  if (is_predicate_slot(slot)) return ((predicates >> (slot - kFirstPredicate)) & 1) != 0;
  bool found = false;
  each_register([&](Slot each) { found |= each == slot; });
  return found;
}

bool Instruction::may_pass_address(std::size_t value) const {
  switch (op) {
    case Op::multiply:
      return value >= 2 || (value == 0 && values.size() > 1 && values[1].is(1));
    case Op::scale:
      return value == 1 || (value == 0 && !values.empty() && values.back().is(0));
    default:
      return op != Op::number && op != Op::integer && op != Op::shift && op != Op::absolute && op != Op::extend &&
             op != Op::halves;
  }
}

std::optional<std::uint32_t> parse_hex(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  return number(text.substr(2), 16);
}

Slot register_of(std::string_view operand) {
  operand = without_signs(operand);
  const std::uint32_t base = operand.starts_with("UR") ? kUniform : 0;
  if (!operand.starts_with(base != 0 ? "UR" : "R")) return kNone;
  operand.remove_prefix(base != 0 ? 2 : 1);
  const std::size_t end = operand.find_first_not_of("0123456789");
  const auto index = number(operand.substr(0, end), 10);
  return index && *index < 255 ? base + *index : kNone;
}

std::vector<Slot> registers_in(std::string_view operand) {
  std::vector<Slot> out;
  for (std::size_t at = 0; at < operand.size(); ++at) {
    const bool starts = at == 0 || operand[at - 1] == '[' || kSigns.find(operand[at - 1]) != std::string_view::npos;
    const Slot slot =
        starts && kSigns.find(operand[at]) == std::string_view::npos ? register_of(operand.substr(at)) : kNone;
    if (slot != kNone) out.push_back(slot);
  }
  return out;
}

Condition condition_of(std::string_view predicate) {
  const bool negated = predicate.starts_with('!');
  predicate = without_signs(predicate);
  const bool uniform = predicate.starts_with('U');
  if (uniform) predicate.remove_prefix(1);
  if (predicate.size() != 2 || predicate[0] != 'P' || predicate[1] < '0' || predicate[1] > '9') return {kNone, negated};
  return {(uniform ? kFirstUniformPredicate : kFirstPredicate) + static_cast<Slot>(predicate[1] - '0'), negated};
}

bool is_predicate(std::string_view operand) {
  operand = without_signs(operand);
  return operand == "PT" || operand == "UPT" || condition_of(operand).slot != kNone;
}

Operand operand_of(std::string_view text) {
  Operand out;
  out.part = text.find('|') != std::string_view::npos;
  out.complement = text.starts_with('~');
  out.negative = text.starts_with('-') && !text.starts_with("-0x");
  if (out.complement || out.negative) text.remove_prefix(1);
  if (read_number(text, out) || read_bank(text, out)) return out;
  if (text.starts_with("RZ") || text.starts_with("URZ")) {
    out.kind = Operand::Kind::number;
    out.number = {0, 0};
    return out;
  }
  out.slot = register_of(text);
  if (out.slot != kNone) out.kind = Operand::Kind::slot;
  const std::size_t dot = text.find('.');
  const std::string_view suffix = dot == std::string_view::npos ? "" : text.substr(dot);
  out.part |= !suffix.empty() && suffix != ".reuse" && suffix != ".64" && suffix != ".64.reuse";
  return out;
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
  Instruction i;
  i.address = *address;
  std::string_view rest = trim(line.substr(end_of_address + 2, end - end_of_address - 2));
  if (rest.starts_with('@')) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const std::string_view predicate = rest.substr(1, space - 1);
    i.condition = condition_of(predicate);
    i.runs = predicate != "!PT" && predicate != "!UPT";
    rest = trim(rest.substr(space));
  }
  const std::size_t space = rest.find(' ');
  i.opcode = rest.substr(0, space);
  if (i.opcode.empty()) return std::nullopt;
  if (space != std::string_view::npos) {
    each_part(trim(rest.substr(space)), ',', [&](std::string_view operand) { i.operands.push_back(trim(operand)); });
  }
  i.code = &opcode_of(i.base(), std::ranges::any_of(i.operands, [](auto each) { return each.starts_with("desc["); }));
  i.op = i.code->op;
  if (const std::string_view base = i.base(); base != i.opcode) {
    each_part(i.opcode.substr(base.size() + 1), '.', [&](std::string_view name) {
      const std::uint64_t bit = modifier_bit(name);
      i.modifiers |= bit;
      i.relocated |= name == kRelocated;
      // An unknown modifier may change what is computed.
      if (bit == 0 && is_evaluated(i.op)) i.op = Op::other;
    });
  }
  i.words = i.has<"128">() ? 4 : i.has<"64">() ? 2 : 1;
  i.written = written_by(i, read_operands(i));
  if (i.op == Op::halves) read_halves(i);
  if (i.uses_memory()) {
    read_address(i);
    i.bytes = bytes_of(i);
  }
  if ((i.op == Op::set_barrier || i.op == Op::sync) && !i.operands.empty() && !i.operands[0].empty()) {
    i.barrier = number(i.operands[0].substr(1), 10).value_or(0) & 15;
  }
  return i;
}

// ---- memory

bool has_address(const Instruction& i) {
  return i.code->shape == Shape::plain || (i.code->shape == Shape::bulk && i.code->kind == AccessKind::copy);
}

Mode mode_of(const Instruction& i) {
  if (i.code->kind == AccessKind::atomic) return Mode::atomic;
  const bool copies_out = i.code->shape == Shape::bulk && i.opcode.find(".G.S") != std::string_view::npos;
  return i.code->kind == AccessKind::store || copies_out ? Mode::write : Mode::read;
}

namespace {

// In "SUST.D.BA.2D [R4], R2, UR4", R4 is the byte in the row, and R5 is the row. In "TLD.LZ RZ, R7, R5, UR4, 0x0, 1D",
// R5 is the texel in the row. Ignores other forms, because their coordinates have fractions, or are changed by a level
// or an offset.
Slot first_of_image(const Instruction& i, std::vector<std::size_t>& axes) {
  if (i.base() == "TLD") {
    const bool plain = i.opcode == "TLD.LZ" || i.opcode == "TLD.SCR.LZ";
    const bool line = std::ranges::find(i.operands, "1D") != i.operands.end();
    if (plain && line) axes = {0};
    return i.values.size() > 1 ? i.values[1].slot : kNone;
  }
  if (i.code->shape == Shape::texture || !i.has<"BA">()) return kNone;
  if (i.has<"1D">()) axes = {0};
  if (i.has<"2D">()) axes = {0, 1};
  if (i.has<"3D">() || i.has<"2D_ARRAY">()) axes = {0, 1, 2};
  if (i.has<"1D_ARRAY">()) axes = {0, 2};
  Slot first = kNone;
  for (const std::string_view operand : i.operands) {
    const std::string_view place = address_in(operand);
    if (!place.empty() && place.find('+') == std::string_view::npos) first = register_of(place);
  }
  return first;
}

// In "UTMALDG.2D [UR4], [UR10]", UR4 and UR5 are addresses in shared memory, and UR6 and UR7 are the coordinates. A
// store has only one address in shared memory.
Slot first_of_box(const Instruction& i, std::vector<std::size_t>& axes) {
  const std::size_t rank = i.has<"1D">() ? 1 : i.has<"2D">() ? 2 : i.has<"3D">() ? 3 : i.has<"4D">() ? 4 : 0;
  // Any other modifier may change the position of the box.
  constexpr auto kHarmless = modifier_bit("MULTICAST") | modifier_bit("ADD") | modifier_bit("MIN") |
                             modifier_bit("MAX") | modifier_bit("INC") | modifier_bit("DEC") | modifier_bit("AND") |
                             modifier_bit("OR") | modifier_bit("XOR");
  const std::size_t known = (rank == 0 ? 0 : 1) + static_cast<std::size_t>(std::popcount(i.modifiers & kHarmless));
  const auto modifiers = static_cast<std::size_t>(std::ranges::count(i.opcode, '.'));
  const Slot first = i.operands.empty() ? kNone : register_of(address_in(i.operands[0]));
  if (known != modifiers || first == kNone || first < kUniform) return kNone;
  for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  return first + (i.code->kind == AccessKind::load ? 2 : 1);
}

}  // namespace

std::vector<Coordinate> coordinates_of(const Instruction& i) {
  std::vector<std::size_t> axes;
  const bool box = i.code->shape == Shape::box;
  const Slot first = box ? first_of_box(i, axes) : first_of_image(i, axes);
  std::vector<Coordinate> out;
  if (first == kNone || (!box && first >= kUniform)) return out;
  for (std::size_t at = 0; at < axes.size(); ++at) {
    Coordinate& each = out.emplace_back();
    each.axis = axes[at];
    each.value.kind = Operand::Kind::slot;
    each.value.slot = first + static_cast<Slot>(at);
  }
  return out;
}

const BankLayout* bank_layout(ParameterBank bank) {
  static constexpr BankLayout kLayouts[] = {
      {0x160, 0, 0xc, 0, 0}, {0x210, 0, 0xc, 0x198, 0xc0}, {0x380, 0x360, 0x370, 0x348, 0}};
  const auto found = std::ranges::find(kLayouts, bank.offset, &BankLayout::parameters);
  return found == std::end(kLayouts) ? nullptr : &*found;
}

std::optional<std::uint32_t> word_in_bank(ParameterBank bank, std::uint32_t offset, std::string_view parameters,
                                          const std::optional<Sizes>& grid, const std::optional<Sizes>& block) {
  const std::uint32_t byte = offset - bank.offset;
  if (offset % 4 != 0) return std::nullopt;
  if (offset >= bank.offset && byte < bank.size) return word_at(parameters, byte);
  const BankLayout* const layout = bank_layout(bank);
  if (layout == nullptr) return std::nullopt;
  const std::uint32_t of_block = (offset - layout->block) / 4, of_grid = (offset - layout->grid) / 4;
  if (of_block < 3 && block) return (*block)[of_block];
  return of_grid < 3 && grid ? std::optional((*grid)[of_grid]) : std::nullopt;
}

std::optional<std::uint32_t> word_at(std::string_view bytes, std::uint32_t offset) {
  std::uint32_t value = 0;
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace cudadiag::sass
