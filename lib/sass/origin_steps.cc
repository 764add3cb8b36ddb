// Applies the effect of each instruction to the origins of registers and memory.
#include <algorithm>
#include <utility>

#include "sass/origins.h"

namespace cudadiag::sass {
namespace {

using namespace origin;

constexpr std::uint32_t kFirstArgument = 4, kEndOfArguments = 16;  // registers that hold arguments and results of
                                                                   // functions

bool is_number(const Operand& operand) { return operand.kind == Operand::Kind::number; }

bool is_product(const Instruction& i) {
  return ((i.op == Op::multiply || i.op == Op::scale) && !i.has<"HI">()) || (i.op == Op::shift && i.has<"L">());
}

// Recognises instructions that invert all bits of a number, or all but the lowest. Examples are "LOP3.LUT R3, RZ, R3,
// RZ, 0x33, !PT" and "LOP3.LUT R2, R2, 0xfffffffc, RZ, 0x3c, !PT".
bool is_complement(const Instruction& i) {
  if (i.op != Op::combine || i.values.size() < 4) return false;
  const Operand& how = i.values[3];
  return how.is(0xf) || how.is(0x33) || how.is(0x55) ||
         (how.is(0x3c) && is_number(i.values[1]) && *i.values[1].number[0] >= 0x80000000);
}

// Returns the origin of a number that may be the distance between two descriptors; 0 for other numbers.
std::uint32_t number_origin(std::uint32_t value) {
  const bool near = value < 0x10000 || value >= 0xffff0000;
  return near && value % 16 == 0 ? kNumber | (value & kValue) : 0;
}

}  // namespace

Instructions::Instructions(const Program& program, ParameterBank bank, Calls calls, ZeroWords zeros, OriginSets& sets)
    : program_(program), bank_(bank), calls_(calls), zeros_(zeros), sets_(sets) {
  bool used = false, moved_late = false;
  for (std::uint32_t at = 0; at < program.size(); ++at) {
    const Instruction& i = program[at];
    used |= i.code->shape == Shape::plain && i.code->space == Space::local;
    const bool wide = i.words > 1 || i.has<"WIDE">();
    moved_late |= used && i.runs && (i.to() == kStackPointer || (i.to() + 1 == kStackPointer && wide));
  }
  stack_holds_still_ = !moved_late;
}

void Instructions::step(std::uint32_t at, Registers& state) {
  at_ = at;
  const Instruction& i = program_[at];
  if (!i.runs) return;
  const Step s{i, state, condition_number(i.condition)};
  // A register that a predicate guards is not known under that predicate once the predicate is set again. Loads need
  // their address first.
  if (i.op == Op::access) return access(s);
  if (i.op == Op::call) return call(s);
  if (i.op >= Op::nothing) return;
  state.forget_conditions(i.written.predicates);
  if (i.op == Op::set_predicates || i.op == Op::compare || i.op == Op::decide || i.to() == kNone) return;
  if (i.op == Op::move || i.op == Op::choose || (i.op == Op::multiply && i.has<"MOV">())) return move(s);
  if (i.op == Op::add || (i.op == Op::multiply && i.has<"IADD">())) return add(s);
  if (i.op == Op::shuffle) return shuffle(s);
  if (i.op == Op::special) return load_special(s);
  compute(s);
}

// ---- calls, conditions, numbers

// An external function may access memory through any pointer that it receives, in registers or in local memory, and may
// change local memory. We assume that it returns none of these pointers. A function in the same code is followed like a
// jump.
void Instructions::call(const Step& s) {
  if (s.i.target != kNone) return;
  if (calls_ == Calls::anything) {
    for (std::uint32_t at = kFirstArgument; at < kEndOfArguments; at += 2) {
      note({s.state.held()[at], s.state.held()[at + 1]}, Mode::unknown);
    }
    note({pool_, pool_}, Mode::unknown);
    for (std::uint32_t at = kStack; at < kRegisters; ++at) set(s, at, 0);
  }
  for (std::uint32_t at = kFirstArgument; at < kEndOfArguments; ++at) set(s, at, 0);
}

// The result is one of the operands, unchanged.
void Instructions::move(const Step& s) {
  std::vector<Id> moved;
  for (std::size_t at = 0; at < s.i.values.size(); ++at) {
    if (!s.i.may_pass_address(at)) continue;
    const bool fresh = moved.empty();
    moved.resize(s.i.words);
    for (std::uint32_t w = 0; w < s.i.words; ++w) {
      const Id each = value(s, s.i.values[at], w);
      moved[w] = fresh ? each : sets_.either(moved[w], each);
    }
  }
  moved.resize(s.i.words);
  for (std::uint32_t w = 0; w < moved.size(); ++w) set(s, s.i.to() + w, moved[w]);
}

// A register's set covers its values in all threads, so a shuffle is just a copy.
void Instructions::shuffle(const Step& s) {
  if (!s.i.values.empty()) set(s, s.i.to(), value(s, s.i.values[0], 0));
}

Lead Instructions::lead_of(const Operand& operand, Id id) const {
  if (sets_.has(id, kAddend)) return operand.negative ? Lead::back : Lead::away;
  if (sets_.has(id, kBefore)) return operand.negative ? Lead::anywhere : Lead::back;
  if (operand.is(0) || sets_.is_zero(id)) return Lead::nowhere;
  if (is_number(operand)) return operand.negative || *operand.number[0] >= 0x80000000 ? Lead::back : Lead::anywhere;
  return operand.negative ? Lead::down : Lead::anywhere;
}

Instructions::Term Instructions::product(const Step& s, const std::vector<const Operand*>& factors) {
  Term made;
  bool strict = is_product(s.i), any = false, negative = false;
  for (const Operand* factor : factors) {
    const Id id = value(s, *factor, 0);
    const Lead lead = lead_of(*factor, id);
    if (s.i.op == Op::multiply && lead == Lead::nowhere) return {};
    if (sets_.has(id, kThread)) made.id = sets_.one(kThread);
    const bool constant = is_number(*factor) || sets_.is_constant(id);
    negative ^= lead == Lead::back || lead == Lead::down;
    any |= !is_number(*factor);
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
  const bool pair = s.i.has<"64">();
  if (s.i.has<"X">()) return compute(s);
  std::vector<Term> terms;
  Id high = 0;
  for (std::size_t at = 0; at < s.i.values.size(); ++at) {
    const Operand& operand = s.i.values[at];
    if (!s.i.may_pass_address(at)) continue;
    const Id id = value(s, operand, 0);
    terms.push_back({operand.negative ? sets_.blurred(id) : id, lead_of(operand, id), is_number(operand)});
    if (pair) high = sets_.join(high, value(s, operand, 1));
  }
  std::vector<Id> lower = led_by_others(terms);
  // Add places first, because the sum of two numbers is not tracked.
  std::stable_partition(lower.begin(), lower.end(), [&](Id id) { return !sets_.are_numbers(id); });
  Id low = 0;
  for (std::size_t each = 0; each < lower.size(); ++each) low = each == 0 ? lower[0] : sets_.sum(low, lower[each]);
  set(s, s.i.to(), sets_.together(low, 0, lead_of_sum(terms, terms.size())));
  if (pair) set(s, s.i.to() + 1, sets_.blurred(high));
}

void Instructions::compute(const Step& s) {
  const Instruction& i = s.i;
  const bool wide = i.has<"WIDE">();
  const bool pair = (i.has<"64">() || i.has<"U64">() || i.has<"S64">()) && i.op != Op::shift;
  std::vector<const Operand*> numbers;
  std::vector<Term> terms;
  Id high = 0;
  for (std::size_t at = 0; at < i.values.size(); ++at) {
    const Operand& operand = i.values[at];
    if (!i.may_pass_address(at)) {
      numbers.push_back(&operand);
      continue;
    }
    const Id id = value(s, operand, 0);
    terms.push_back({id, lead_of(operand, id), is_number(operand)});
    high = sets_.join(high, pair || (wide && at == 2) ? value(s, operand, 1) : id);
  }
  set(s, i.to(), sets_.blurred(made_of(s, terms, product(s, numbers))));
  if (wide || pair) set(s, i.to() + 1, sets_.blurred(high));
}

// Returns the origins of the result's lower half. A result that is not a sum is either one of the terms, or a
// combination of their bits.
OriginSets::Id Instructions::made_of(const Step& s, std::vector<Term> terms, const Term& product) {
  Id low = 0;
  if (s.i.op == Op::add || s.i.op == Op::multiply || s.i.op == Op::scale || terms.empty()) {
    terms.push_back(product);
    for (const Id each : led_by_others(terms)) low = sets_.together(low, each, Lead::nowhere);
    return sets_.together(low, 0, lead_of_sum(terms, terms.size()));
  }
  for (std::size_t at = 0; at < terms.size(); ++at) low = at == 0 ? terms[0].id : sets_.join(low, terms[at].id);
  if (s.i.op == Op::least) return low;
  return sets_.together(low, 0, is_complement(s.i) ? Lead::back : Lead::nowhere);
}

// Handles "S2R R7, SR_CTAID.X".
void Instructions::load_special(const Step& s) {
  const std::string_view what = s.i.operands.back();
  const bool is_thread = what.starts_with("SR_TID") || what.starts_with("SR_CTAID") || what == "SR_LANEID";
  for (std::uint32_t w = 0; w < s.i.written.count; ++w) set(s, s.i.to() + w, is_thread ? sets_.one(kThread) : 0);
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
OriginSets::Id Instructions::constant(const Step& s, const Operand& operand, std::uint32_t half) {
  const std::uint32_t offset = operand.offset;
  if (operand.slot != kNone) {
    if (offset < bank_.offset) return sets_.one(kTop);
    if (offset >= bank_.offset + bank_.size) return 0;
    return indexed(read(s, operand.slot), offset - bank_.offset + 4 * half);
  }
  const std::uint32_t word = offset + 4 * half;
  if (const BankLayout* const layout = bank_layout(bank_)) {
    const std::uint32_t of_bank = layout->address_of_bank;
    for (const std::uint32_t its : {layout->address_of_parameters, of_bank}) {
      if (its == 0) continue;
      if (word == its) return sets_.one(kPlace | (its == of_bank ? (0 - bank_.offset) & kValue : 0));
      if (word == its + 4) return sets_.one(kUpper);
    }
  }
  return word < bank_.offset || word >= bank_.offset + bank_.size ? 0 : parameter((word - bank_.offset) & ~3u);
}

// Returns the origins of an operand. `half` selects a register of a pair or of a larger group.
OriginSets::Id Instructions::value(const Step& s, const Operand& operand, std::uint32_t half) {
  switch (operand.kind) {
    case Operand::Kind::bank:
      return constant(s, operand, half);
    case Operand::Kind::unclear:
      return sets_.one(kTop);
    case Operand::Kind::slot:
      return read(s, operand.slot + half);
    case Operand::Kind::number: {
      if (!operand.is_plain() || (half != 0 && operand.number[1] == ~0u)) return 0;
      const std::uint32_t origin = number_origin(half != 0 ? 0 : *operand.number[0]);
      return sets_.one(origin == 0 ? kConstant : origin);
    }
    default:
      return 0;
  }
}

// ---- shared and local memory

void Instructions::set_words(const Step& s, Id value) {
  for (std::uint32_t w = 0; s.i.to() != kNone && w < s.i.words; ++w) set(s, s.i.to() + w, value);
}

void Instructions::put(Id& pool, Id value) {
  const Id joined = sets_.join(pool, sets_.without_marks(value));
  memory_version_ += joined != pool ? 1 : 0;
  pool = joined;
}

void Instructions::load_shared(const Step& s) {
  s.state.forget_conditions(s.i.written.predicates);
  set_words(s, pool_);
}

void Instructions::store_shared(const Step& s) {
  const Slot from = s.i.values.empty() ? kNone : s.i.values.back().slot;
  if (from == kNone) return;
  for (std::uint32_t w = 0; w < s.i.words; ++w) put(pool_, read(s, from + w));
}

// Returns the register number that represents the stack word at "[R1+0x10]"; kNone if the word is unknown or too far
// from R1.
std::uint32_t Instructions::stack_word(const Step& s, std::uint32_t word) const {
  const auto& terms = s.i.place;
  if (!stack_holds_still_ || terms.empty() || terms.size() > 2 || terms[0].value.slot != kStackPointer) return kNone;
  if (terms[0].factor != 1 || (terms.size() == 2 && terms[1].value.kind != Operand::Kind::number)) return kNone;
  const std::uint32_t offset = terms.size() == 1 ? 0 : *terms[1].value.number[0];
  return offset % 4 == 0 && offset / 4 + word < kStackWords ? kStack + offset / 4 + word : kNone;
}

void Instructions::load_local(const Step& s) {
  if (stack_word(s, s.i.words - 1) == kNone) return load_shared(s);
  s.state.forget_conditions(s.i.written.predicates);
  for (std::uint32_t w = 0; s.i.to() != kNone && w < s.i.words; ++w) {
    const Id held = read(s, stack_word(s, w));
    set(s, s.i.to() + w, anywhere_on_stack_ == 0 ? held : sets_.join(anywhere_on_stack_, held));
  }
}

void Instructions::store_local(const Step& s) {
  store_shared(s);
  const Slot from = s.i.values.empty() ? kNone : s.i.values.back().slot;
  const bool exact = stack_word(s, s.i.words - 1) != kNone && !s.i.has<"U8">() && !s.i.has<"U16">();
  for (std::uint32_t w = 0; w < s.i.words; ++w) {
    const Id held = from == kNone ? 0 : read(s, from + w);
    if (exact) {
      set(s, stack_word(s, w), held);
    } else {
      put(anywhere_on_stack_, held);
    }
  }
}

// ---- global memory

// Returns the halves of an address: "R2.64+0x10", "R2.U32+UR4", "UR4".
Instructions::Halves Instructions::place(const Step& s) {
  Halves out;
  std::vector<Term> terms;
  for (const AddressTerm& term : s.i.place) {
    const Slot at = term.value.slot;
    const Id low = at == kNone ? 0 : read(s, at);
    if (at != kNone && term.width != AddressTerm::Width::half) out.high = sets_.join(out.high, read(s, at + 1));
    terms.push_back({low, lead_of(term.value, low), at == kNone});
  }
  for (const Id each : led_by_others(terms)) out.low = sets_.join(out.low, each);
  return out;
}

// Records the parameter words from which the address may come. The lower half of a word must be in `place.low`, and its
// upper half in `place.high`. Only words at multiples of 8 can be addresses.
void Instructions::note(const Halves& place, Mode mode) {
  if (!noting_) return;
  CodeAccess access;
  access.mode = mode;
  const auto& high = sets_.of(place.high);
  for (const std::uint32_t each : sets_.of(place.low)) {
    if (each == kTop) access.anywhere = true;
    if (each == kOther) access.other = true;
    const std::uint32_t upper = (each & ~(kMoved | kShifted)) + 4;
    if (!is_word(each) || value_of(each) % 8 != 0 || !std::ranges::binary_search(high, upper)) continue;
    access.origins.push_back({value_of(each), is_indexed(each), is_chosen(each), (each & kShifted) != 0});
  }
  // If the address may come from the same word with and without a shift, keep only the unshifted origin.
  const auto same_word = [](Origin a, const Origin& b) { return a.shifted = b.shifted, a == b; };
  std::ranges::sort(access.origins);
  access.origins.erase(std::unique(access.origins.begin(), access.origins.end(), same_word), access.origins.end());
  if (access.anywhere || !access.origins.empty()) return note(std::move(access));
  writes_elsewhere_ |= mode != Mode::read;
}

void Instructions::note(CodeAccess access) {
  by_instruction_[at_].insert(access);
  access.other = false;
  accesses_.insert(std::move(access));
}

// Only a load from the parameters, or from memory that may be local, can return a parameter word.
void Instructions::set_loaded(const Step& s, const Halves& place) {
  s.state.forget_conditions(s.i.written.predicates);
  if (s.i.to() == kNone) return;
  const auto& high = sets_.of(place.high);
  for (std::uint32_t w = 0; w < s.i.words; ++w) {
    Id loaded = s.i.code->space == Space::generic ? pool_ : 0;
    for (const std::uint32_t each : sets_.of(place.low)) {
      if (!is_place(each) || !std::ranges::binary_search(high, kUpper)) continue;
      const bool nowhere = is_indexed(each) && (value_of(each) == 0 || value_of(each) >= bank_.size);
      const std::uint32_t word = ((each & ~kPlace) + 4 * w) & ~3u;
      const Id held = is_indexed(each) ? indexed(place.low, value_of(word)) : parameter(word);
      loaded = sets_.join(loaded, nowhere ? sets_.one(kTop) : held);
    }
    set(s, s.i.to() + w, loaded);
  }
}

// ---- instructions

void Instructions::access(const Step& s) {
  const Opcode& code = *s.i.code;
  switch (code.shape) {
    case Shape::plain:
      if (code.space == Space::shared && code.kind == AccessKind::atomic) break;
      if (code.space == Space::shared) return code.kind == AccessKind::load ? load_shared(s) : store_shared(s);
      if (code.space == Space::local) return code.kind == AccessKind::load ? load_local(s) : store_local(s);
      return use_address(s);
    case Shape::bulk:
      // In "UBLKCP.S.G [UR8], [UR4], UR10", the last operand is the size.
      return s.i.place.empty() ? escape(s) : use_address(s);
    case Shape::box:
      return use_box(s);
    case Shape::hidden:
      escape(s);
      break;
    case Shape::texture:
    case Shape::surface:
      use_handle(s);
      break;
    default:
      return store_shared(s);
  }
  s.state.forget_conditions(s.i.written.predicates);
  if (s.i.to() == kNone) return;
  code.shape == Shape::surface || code.shape == Shape::hidden ? set_words(s, 0) : compute(s);
}

void Instructions::use_address(const Step& s) {
  const Halves at = place(s);
  note(at, mode_of(s.i));
  if (s.i.code->kind == AccessKind::load) return set_loaded(s, at);
  if (s.i.code->kind == AccessKind::store && s.i.code->space == Space::generic) store_local(s);
  if (s.i.code->kind != AccessKind::atomic) return;
  s.state.forget_conditions(s.i.written.predicates);
  set_words(s, 0);
}

// Handles "UTMALDG.2D [UR8], [UR6]". The first operand contains the address in shared memory and the coordinates. The
// second operand contains the address of a descriptor. A descriptor in the parameters begins with the address of its
// memory. For a descriptor in memory, assumes any value that was stored in shared memory, because code builds
// descriptors there.
void Instructions::use_box(const Step& s) {
  const Halves at = place(s);
  note(at, Mode::read);
  if (!noting_) return;
  CodeAccess access;
  access.mode = mode_of(s.i);
  const auto& high = sets_.of(at.high);
  for (const std::uint32_t each : sets_.of(at.low)) {
    if (!is_place(each) || !std::ranges::binary_search(high, kUpper)) continue;
    const bool nowhere = is_indexed(each) && (value_of(each) == 0 || value_of(each) >= bank_.size);
    access.anywhere |= nowhere;
    if (!nowhere) access.origins.push_back({value_of(each), is_indexed(each)});
  }
  access.anywhere |= sets_.has(at.low, kTop);
  if (access.anywhere || !access.origins.empty()) {
    note(std::move(access));
  } else {
    note({pool_, pool_}, Mode::unknown);
  }
}

// Handles instructions of which we know only that they use memory, such as "desc[UR4][R2.64]". Assumes that every
// register among the operands is an address that may be read or written.
void Instructions::escape(const Step& s) {
  for (const std::string_view operand : s.i.operands) {
    for (const Slot first : registers_in(operand)) note({read(s, first), read(s, first + 1)}, Mode::unknown);
  }
}

// ---- handles

// Returns the offset of the parameter that is the handle of a texture or surface. A handle is in a uniform register or,
// before sm_90, possibly in a word of constant bank 0: "0x0, 0x58" is c[0x0][0x160]. Returns nullopt if the handle is,
// or may be, anything else.
std::optional<std::uint32_t> Instructions::handle_word(const Step& s) const {
  const auto& operands = s.i.operands;
  for (std::size_t at = operands.size(); at-- > 0;) {
    if (operands[at].starts_with("UR")) {
      const auto& origins = sets_.of(read(s, register_of(operands[at])));
      // kAddend is among the origins only if the register holds a parameter on all paths.
      const bool one = origins.size() == 2 && is_word(origins[0]) && value_of(origins[0]) == origins[0];
      return one && origins[1] == kAddend ? std::optional(origins[0]) : std::nullopt;
    }
  }
  for (std::size_t at = 0; at + 1 < operands.size(); ++at) {
    const auto word = parse_hex(operands[at + 1]);
    if (operands[at] != "0x0" || !word) continue;
    const std::uint32_t offset = 4 * *word - bank_.offset;
    return offset < bank_.size ? std::optional(offset) : std::nullopt;
  }
  return std::nullopt;
}

void Instructions::use_handle(const Step& s) {
  if (const auto word = handle_word(s); noting_ && word) {
    handles_[at_] = {*word, s.i.code->shape == Shape::surface, mode_of(s.i)};
  }
}

}  // namespace cudadiag::sass
