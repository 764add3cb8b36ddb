// Applies the effects of instructions on memory.
#include <algorithm>
#include <utility>

#include "sass/origin_steps.h"

namespace cudadiag::sass {

using namespace origin;

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
    const std::uint32_t upper = (each & ~(kMoved | kShifted)) + 4;
    if (!is_word(each) || value_of(each) % 8 != 0 || !std::binary_search(high.begin(), high.end(), upper)) continue;
    access.origins.push_back({value_of(each), is_indexed(each), is_chosen(each), (each & kShifted) != 0});
  }
  // If the address may come from the same word with and without a shift, keep only the unshifted origin.
  const auto same_word = [](Origin a, const Origin& b) { return a.shifted = b.shifted, a == b; };
  std::sort(access.origins.begin(), access.origins.end());
  access.origins.erase(std::unique(access.origins.begin(), access.origins.end(), same_word), access.origins.end());
  if (access.anywhere || !access.origins.empty()) return note(std::move(access));
  writes_elsewhere_ |= mode != Mode::read;
}

void Instructions::note(CodeAccess access) {
  by_instruction_[at_].insert(access);
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
      if (!is_place(each) || !std::binary_search(high.begin(), high.end(), kUpper)) continue;
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
    if (!is_place(each) || !std::binary_search(high.begin(), high.end(), kUpper)) continue;
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

// Handles instructions of which we know only that they use memory, such as "desc[UR4][R2.64]". Assumes that every register
// among the operands is an address that may be read or written.
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
