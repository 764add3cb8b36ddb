#include "sass/threads/thread_code.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "sass/code/memory_operands.h"

namespace cudadiag::sass {
namespace {

Op op_of(const Instruction& i) {
  static const std::unordered_map<std::string_view, Op> kOps = {
      {"MOV", Op::move},        {"R2UR", Op::move},     {"LDC", Op::move},       {"LDCU", Op::move},
      {"SEL", Op::choose},      {"S2R", Op::special},   {"S2UR", Op::special},   {"CS2R", Op::special},
      {"IADD3", Op::add},       {"IADD", Op::add},      {"VIADD", Op::add},      {"IMAD", Op::multiply},
      {"LEA", Op::scale},       {"SHF", Op::shift},     {"LOP3", Op::combine},   {"IABS", Op::absolute},
      {"IMNMX", Op::least},     {"VIMNMX", Op::least},  {"ISETP", Op::compare},  {"PLOP3", Op::decide},
      {"BRA", Op::jump},        {"JMP", Op::jump},      {"EXIT", Op::exit},      {"BSSY", Op::set_barrier},
      {"BSYNC", Op::sync},      {"CALL", Op::call},     {"RET", Op::back},       {"BRX", Op::lost},
      {"BRXU", Op::lost},       {"JMX", Op::lost},      {"JMXU", Op::lost},      {"KILL", Op::lost},
      {"RTT", Op::lost},        {"LDG", Op::access},    {"LD", Op::access},      {"STG", Op::access},
      {"ST", Op::access},       {"ATOM", Op::access},   {"ATOMG", Op::access},   {"RED", Op::access},
      {"REDG", Op::access},     {"LDGSTS", Op::access}, {"TLD", Op::access},     {"SULD", Op::access},
      {"SUST", Op::access},     {"SURED", Op::access},  {"UTMALDG", Op::access}, {"UTMASTG", Op::access},
      {"UTMAREDG", Op::access}, {"HFMA2", Op::forget},  {"LDL", Op::local},      {"STL", Op::local}};
  const std::string_view base = i.base();
  auto op = kOps.find(base);
  if (op == kOps.end()) op = kOps.find(without_u(base));
  if (op == kOps.end()) return Op::forget;
  if (op->second == Op::exit && !i.operands.empty()) return Op::lost;  // the operand is a second condition
  if (op->second == Op::add && i.has("64")) return Op::add_pairs;
  if (op->second == Op::multiply && i.has("WIDE")) return Op::multiply_wide;
  if (op->second == Op::multiply && i.has("HI")) return Op::multiply_high;
  return op->second;
}

// Instructions that do not change a thread's registers. They are listed so that they do not count as unknown.
bool does_nothing(std::string_view base) {
  return is_any(base,
                {"NOP",       "BAR",      "UBAR",         "WARPSYNC",      "YIELD",       "NANOSLEEP",    "DEPBAR",
                 "LDGDEPBAR", "MEMBAR",   "ERRBAR",       "BREAK",         "CCTL",        "CCTLL",        "CCTLT",
                 "FENCE",     "STS",      "STSM",         "STAS",          "BPT",         "PMTRIG",       "PREEXIT",
                 "ACQBULK",   "SYNCS",    "ARRIVES",      "WARPGROUP",     "UCGABAR_ARV", "UCGABAR_WAIT", "UTMAPF",
                 "UBLKPF",    "UTMACCTL", "UTMACMDFLUSH", "ENDCOLLECTIVE", "ACQSHMINIT",  "USETMAXREG"});
}

// All other known instructions, without a leading U. Their results become unknown values.
bool is_modelled(std::string_view base) {
  static const std::initializer_list<std::string_view> kKnown = {
      "IMUL",    "SHL",     "SHR",     "LOP",      "PRMT",    "FADD",      "FMUL",   "FFMA",        "FSEL",
      "FMNMX",   "FMNMX3",  "FSETP",   "FSET",     "FCHK",    "MUFU",      "I2F",    "I2FP",        "I2I",
      "I2IP",    "F2I",     "F2F",     "F2FP",     "F2IP",    "FRND",      "POPC",   "FLO",         "BREV",
      "SGXT",    "BMSK",    "LDS",     "LDSM",     "ATOMS",   "HFMA2",     "HADD2",  "HMUL2",       "HSET2",
      "HSETP2",  "HMNMX2",  "DADD",    "DMUL",     "DFMA",    "DSETP",     "DMNMX",  "IDP",         "IDP4A",
      "HMMA",    "IMMA",    "DMMA",    "QMMA",     "BMMA",    "HGMMA",     "IGMMA",  "QGMMA",       "BGMMA",
      "OMMA",    "VOTE",    "VOTEU",   "MATCH",    "REDUX",   "SHFL",      "P2R",    "R2P",         "P2UR",
      "UR2UP",   "BMOV",    "FSWZADD", "LEPC",     "VIMNMX3", "VIADDMNMX", "VHMNMX", "FADD2",       "FMUL2",
      "FFMA2",   "MOVM",    "TEX",     "TLD",      "TLD4",    "TMML",      "TXD",    "TXQ",         "SULD",
      "SUST",    "SURED",   "SUATOM",  "B2R",      "R2B",     "CREDUX",    "ELECT",  "GETLMEMBASE", "QSPC",
      "LDTM",    "STTM",    "UTCHMMA", "UTCQMMA",  "UTCIMMA", "UTCBAR",    "UTCCP",  "UTCATOMSWS",  "UBLKCP",
      "UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG", "LDGMC",   "CGAERRBAR"};
  return is_any(base, kKnown);
}

bool is_image(std::string_view base) { return is_any(base, {"TLD", "SULD", "SUST", "SURED"}); }

bool is_tile(std::string_view base) { return is_any(base, {"UTMALDG", "UTMASTG", "UTMAREDG"}); }

bool uses_memory(const Instruction& i) {
  return memory_form_of(i) ||
         is_any(i.base(), {"UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG", "LDGMC", "TEX", "TLD", "TLD4", "TMML", "TXD",
                           "SULD", "SUST", "SURED", "SUATOM", "STAS", "LDTM", "STTM", "SYNCS", "ARRIVES"});
}

Condition condition_of(std::string_view text) {
  const bool negated = text.starts_with('!');
  const Slot slot = predicate_slot(text);
  return {slot, negated};
}

Source source_of(std::string_view text) {
  Source out;
  if (text.find('|') != std::string_view::npos) return out;
  out.complement = text.starts_with('~');
  out.negative = text.starts_with('-') && !text.starts_with("-0x");
  if (out.complement || out.negative) text.remove_prefix(1);
  if (text.starts_with("RZ") || text.starts_with("URZ") || immediate(text, 0)) {
    const bool zero = !immediate(text, 0);
    out.kind = Source::Kind::number;
    out.number = {zero ? 0 : immediate(text, 0), zero ? 0 : immediate(text, 1)};
  } else if (const auto place = parse_constant(text)) {
    out.kind = Source::Kind::constant;
    out.slot = place->index;
    out.offset = place->offset;
  } else {
    const std::size_t dot = text.find('.');
    const std::string_view suffix = dot == std::string_view::npos ? "" : text.substr(dot);
    out.slot = register_of(text);
    const bool whole = suffix.empty() || is_any(suffix, {".reuse", ".64", ".64.reuse"});
    if (out.slot != kNone && whole) out.kind = Source::Kind::slot;
  }
  return out;
}

bool is_plain_move(const Instruction& i) {
  return !(i.has("U8") || i.has("S8") || i.has("U16") || i.has("S16") || i.has("OR"));
}

void read_local(const Instruction& i, ThreadInstruction& out) {
  out.mode = i.base() == "STL" ? Mode::write : Mode::read;
  out.width = memory_bytes_of(i);
  for (const std::string_view part : terms_in(memory_place_of(i))) {
    AddressTerm term{source_of(part)};
    term.pair = immediate(part, 0).has_value();
    if (term.source.kind == Source::Kind::unknown) return out.address.clear();
    out.address.push_back(term);
  }
  if (out.mode == Mode::write && !i.operands.empty()) out.values.assign(1, source_of(i.operands.back()));
}

void read_access(const Instruction& i, ThreadInstruction& out) {
  const std::string_view base = i.base();
  const bool atomic = is_any(base, {"ATOM", "ATOMG", "RED", "REDG"});
  out.mode = atomic ? Mode::atomic : is_any(base, {"STG", "ST"}) ? Mode::write : Mode::read;
  out.generic = is_any(base, {"ST", "LD", "ATOM", "RED"});
  out.width = memory_bytes_of(i);
  // A predicate among the operands may disable the access.
  const std::size_t first = atomic ? first_value(i) : 0;
  if (std::any_of(i.operands.begin() + static_cast<std::ptrdiff_t>(first), i.operands.end(), is_predicate)) return;
  const std::vector<std::string_view> parts = terms_in(memory_place_of(i));
  const auto is_number = [](std::string_view part) { return immediate(part, 0).has_value(); };
  const auto registers = std::count_if(parts.begin(), parts.end(), [&](auto part) { return !is_number(part); });
  for (const std::string_view part : parts) {
    AddressTerm term;
    const bool narrow = part.find(".U32") != std::string_view::npos;
    const bool uniform = part.starts_with('U');
    const bool plain = part.find('.') == std::string_view::npos;
    term.source = source_of(part.substr(0, part.find('.')));
    term.pair = is_number(part) || part.ends_with(".64") || (plain && (registers == 1 || uniform));
    term.sure = is_number(part) || part.ends_with(".64") || registers == 1 || narrow;
    const bool readable = term.pair || narrow;
    if (!readable || term.source.kind == Source::Kind::unknown) return out.address.clear();
    out.address.push_back(term);
  }
}

// In "SUST.D.BA.2D [R4], R2, UR4", R4 is the byte in the row, and R5 is the row. In "TLD.LZ RZ, R7, R5, UR4, 0x0, 1D",
// R5 is the texel in the row. Ignores other forms, because their coordinates have fractions, or are changed by a level
// or an offset.
void read_image(const Instruction& i, ThreadInstruction& out) {
  std::vector<std::size_t> axes;
  Slot first = kNone;
  if (i.base() == "TLD") {
    const bool plain = is_any(i.opcode, {"TLD.LZ", "TLD.SCR.LZ"});
    const std::size_t place = first_value(i) + 2;
    const bool line = std::find(i.operands.begin(), i.operands.end(), "1D") != i.operands.end();
    if (plain && line && place < i.operands.size()) axes = {0}, first = register_of(i.operands[place]);
  } else {
    out.mode = i.base() == "SULD" ? Mode::read : i.base() == "SUST" ? Mode::write : Mode::atomic;
    out.width = memory_bytes_of(i);
    if (i.has("BA")) {
      if (i.has("1D")) axes = {0};
      if (i.has("2D")) axes = {0, 1};
      if (i.has("3D") || i.has("2D_ARRAY")) axes = {0, 1, 2};
      if (i.has("1D_ARRAY")) axes = {0, 2};
    }
    for (const std::string_view operand : i.operands) {
      const std::string_view place = address_in(operand);
      if (!place.empty() && place.find('+') == std::string_view::npos) first = register_of(place);
    }
  }
  if (first == kNone || first >= kUniform) return;
  for (std::size_t at = 0; at < axes.size(); ++at) {
    Source source;
    source.kind = Source::Kind::slot;
    source.slot = first + static_cast<Slot>(at);
    out.coordinates.push_back({axes[at], source});
  }
}

// In "UTMALDG.2D [UR4], [UR10]", UR4 and UR5 are addresses in shared memory, and UR6 and UR7 are the coordinates. A
// store has only one address in shared memory.
void read_tile(const Instruction& i, ThreadInstruction& out) {
  const bool load = i.base() == "UTMALDG";
  out.mode = load ? Mode::read : i.base() == "UTMASTG" ? Mode::write : Mode::atomic;
  out.tile = true;
  const std::size_t rank = i.has("1D") ? 1 : i.has("2D") ? 2 : i.has("3D") ? 3 : i.has("4D") ? 4 : 0;
  // Any other modifier may change the position of the box.
  std::size_t known = rank == 0 ? 0 : 1;
  for (const std::string_view each : {"MULTICAST", "ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"}) {
    known += i.has(each) ? 1 : 0;
  }
  const auto modifiers = static_cast<std::size_t>(std::count(i.opcode.begin(), i.opcode.end(), '.'));
  const Slot first = i.operands.empty() ? kNone : register_of(address_in(i.operands[0]));
  if (known != modifiers || first == kNone || first < kUniform || first >= kStack) return;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    Source source;
    source.kind = Source::Kind::slot;
    source.slot = first + static_cast<Slot>(axis) + (load ? 2 : 1);
    out.coordinates.push_back({axis, source});
  }
}

ThreadInstruction taken_apart(const Program& program, const Instruction& i) {
  ThreadInstruction out;
  out.condition = condition_of(i.predicate);
  const bool never = i.predicate == "!PT" || i.predicate == "!UPT";
  out.uses_memory = !never && uses_memory(i);
  out.op = never || does_nothing(i.base()) || does_nothing(without_u(i.base())) ? Op::nothing : op_of(i);
  const Parts parts = parts_of(i);
  out.to = register_of(parts.destination);
  out.words = i.has("128") ? 4 : i.has("64") ? 2 : 1;
  for (const auto each : parts.results) out.results.push_back(condition_of(each));
  for (const auto each : parts.carries) out.carries.push_back(condition_of(each));
  for (const auto each : parts.values) out.values.push_back(source_of(each));
  for (const auto each : parts.conditions) out.conditions.push_back(condition_of(each));
  if (const auto* target = program.target_of(i)) out.target = *target;
  if (is_any(i.base(), {"BSSY", "BSYNC"}) && !i.operands.empty() && i.operands[0].size() >= 2) {
    out.barrier = static_cast<std::uint32_t>(i.operands[0].back() - '0') & 15;
  }
  if (out.op == Op::move && !is_plain_move(i)) out.op = Op::forget;
  // "HFMA2 R5, -RZ, RZ, 0, 2.4e-07" loads a constant.
  const Operands none{[](std::string_view, std::uint32_t) { return std::optional<std::uint32_t>(); },
                      [](std::string_view) { return std::optional<bool>(); }};
  if (const auto number = i.base() == "HFMA2" ? compute_word(i, 0, none).word : std::nullopt) {
    out.op = Op::move;
    out.values.assign(1, {Source::Kind::number, kNone, 0, {*number, 0}, false, false});
  }
  if (i.base() == "WARPSYNC" && out.target != kNone) out.op = Op::lost;
  if (out.op == Op::local) read_local(i, out);
  if (out.op == Op::access) {
    is_tile(i.base()) ? read_tile(i, out) : is_image(i.base()) ? read_image(i, out) : read_access(i, out);
  }
  return out;
}

}  // namespace

ThreadCode::ThreadCode(const Program& program) {
  code_.reserve(program.size());
  for (std::uint32_t at = 0; at < program.size(); ++at) {
    const Instruction& i = program[at];
    code_.push_back(taken_apart(program, i));
    const std::string_view base = i.base();
    const bool known =
        code_.back().op != Op::forget || op_of(i) != Op::forget || is_modelled(base) || is_modelled(without_u(base));
    unknown_ += known ? 0 : 1;
  }
}

}  // namespace cudadiag::sass
