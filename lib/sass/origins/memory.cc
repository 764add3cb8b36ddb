// Applies the effects of instructions on memory.
#include <algorithm>
#include <utility>

#include "sass/origins/instructions.h"

namespace cudadiag::sass {
namespace {

using namespace origin;

// Returns the last address in an instruction: R2.64+0x10 in "[R7], desc[UR6][R2.64+0x10]".
std::string_view address_of(const Instruction& i) {
  for (auto operand = i.operands.rbegin(); operand != i.operands.rend(); ++operand) {
    if (const std::string_view text = address_in(*operand); !text.empty()) return text;
  }
  return "";
}

std::string_view address_of(const Instruction& i, std::size_t operand) {
  return operand < i.operands.size() ? address_in(i.operands[operand]) : "";
}

}  // namespace

// ---- shared and local memory

void Instructions::set_words(const Step& s, Id value) {
  if (s.to == kNone) return;
  for (std::uint32_t w = 0; w < s.words; ++w) s.state.set(s.to + w, value, s.predicate);
}

void Instructions::put(Id& pool, Id value) {
  const Id joined = sets_.join(pool, sets_.without_marks(value));
  memory_version_ += joined != pool ? 1 : 0;
  pool = joined;
}

void Instructions::load_shared(const Step& s) {
  forget_conditions(s);
  set_words(s, pool_);
}

void Instructions::store_shared(const Step& s) {
  const std::uint32_t from = s.i.operands.empty() ? kNone : register_of(s.i.operands.back());
  if (from == kNone) return;
  for (std::uint32_t w = 0; w < s.words; ++w) put(pool_, s.state.get(from + w, s.predicate));
}

// Returns the register number that represents the stack word at "[R1+0x10]"; kNone if the word is unknown or too far
// from R1.
std::uint32_t Instructions::stack_word(const Step& s, std::uint32_t word) const {
  const std::string_view place = address_of(s.i);
  if (!stack_holds_still_ || !(place == "R1" || place.starts_with("R1+0x"))) return kNone;
  const std::uint32_t offset = place == "R1" ? 0 : parse_hex(place.substr(3)).value_or(kNone);
  return offset % 4 == 0 && offset / 4 + word < kStackWords ? kStack + offset / 4 + word : kNone;
}

void Instructions::load_local(const Step& s) {
  if (stack_word(s, s.words - 1) == kNone) return load_shared(s);
  forget_conditions(s);
  if (s.to == kNone) return;
  for (std::uint32_t w = 0; w < s.words; ++w) {
    const Id held = s.state.get(stack_word(s, w), s.predicate);
    s.state.set(s.to + w, anywhere_on_stack_ == 0 ? held : sets_.join(anywhere_on_stack_, held), s.predicate);
  }
}

void Instructions::store_local(const Step& s) {
  store_shared(s);
  const std::uint32_t from = s.i.operands.empty() ? kNone : register_of(s.i.operands.back());
  const bool exact = stack_word(s, s.words - 1) != kNone && !s.i.has("U8") && !s.i.has("U16");
  for (std::uint32_t w = 0; w < s.words; ++w) {
    const Id held = from == kNone ? 0 : s.state.get(from + w, s.predicate);
    if (exact) {
      s.state.set(stack_word(s, w), held, s.predicate);
    } else {
      put(anywhere_on_stack_, held);
    }
  }
}

// ---- global memory

// Returns the halves of an address: "R2.64+0x10", "R2.U32+UR4", "UR4".
Instructions::Halves Instructions::place(const Step& s, std::string_view text) {
  Halves out;
  std::vector<Term> terms;
  for (const std::string_view part : terms_in(text)) {
    const std::uint32_t at = register_of(part);
    const Id low = at == kNone ? 0 : s.state.get(at, s.predicate);
    const bool narrow = at == kNone || part.find(".U32") != std::string_view::npos;
    if (!narrow) out.high = sets_.join(out.high, s.state.get(at + 1, s.predicate));
    terms.push_back({low, lead_of(part, low), at == kNone});
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
  forget_conditions(s);
  if (s.to == kNone) return;
  const auto& high = sets_.of(place.high);
  for (std::uint32_t w = 0; w < s.words; ++w) {
    Id loaded = s.i.base() == "LD" ? pool_ : 0;
    for (const std::uint32_t each : sets_.of(place.low)) {
      if (!is_place(each) || !std::binary_search(high.begin(), high.end(), kUpper)) continue;
      const bool nowhere = is_indexed(each) && (value_of(each) == 0 || value_of(each) >= bank_.size);
      const std::uint32_t word = ((each & ~kPlace) + 4 * w) & ~3u;
      const Id held = is_indexed(each) ? indexed(place.low, value_of(word)) : parameter(word);
      loaded = sets_.join(loaded, nowhere ? sets_.one(kTop) : held);
    }
    s.state.set(s.to + w, loaded, s.predicate);
  }
}

void Instructions::load(const Step& s) {
  const Halves from = place(s, address_of(s.i));
  note(from, Mode::read);
  set_loaded(s, from);
}

void Instructions::copy_to_shared(const Step& s) { note(place(s, address_of(s.i)), Mode::read); }

void Instructions::store(const Step& s) {
  note(place(s, address_of(s.i)), Mode::write);
  if (s.i.base() == "ST") store_local(s);
}

void Instructions::atomic(const Step& s) {
  note(place(s, address_of(s.i)), Mode::atomic);
  forget_conditions(s);
  set_words(s, 0);
}

void Instructions::reduce(const Step& s) { note(place(s, address_of(s.i)), Mode::atomic); }

// Handles "UBLKCP.S.G [UR8], [UR4], UR10", which copies from global to shared memory. The last operand is the size.
void Instructions::copy_bulk(const Step& s) {
  const std::string_view opcode = s.i.opcode;
  if (opcode.find(".S.G") != std::string_view::npos) return note(place(s, address_of(s.i, 1)), Mode::read);
  if (opcode.find(".G.S") != std::string_view::npos) return note(place(s, address_of(s.i, 0)), Mode::write);
  escape(s);
}

void Instructions::reduce_bulk(const Step& s) {
  if (s.i.opcode.find(".G.S") == std::string_view::npos) return escape(s);
  note(place(s, address_of(s.i, 0)), Mode::atomic);
}

// Handles "UTMALDG.2D [UR8], [UR6]". The first operand contains the address in shared memory and the coordinates. The
// second operand contains the address of a descriptor. A descriptor in the parameters begins with the address of its
// memory. For a descriptor in memory, assumes any value that was stored in shared memory, because code builds
// descriptors there.
void Instructions::note_tensor(const Step& s, Mode mode) {
  const Halves at = place(s, address_of(s.i, 1));
  note(at, Mode::read);
  if (!noting_) return;
  CodeAccess access;
  access.mode = mode;
  const auto& high = sets_.of(at.high);
  for (const std::uint32_t each : sets_.of(at.low)) {
    if (!is_place(each) || !std::binary_search(high.begin(), high.end(), kUpper)) continue;
    const bool nowhere = is_indexed(each) && (value_of(each) == 0 || value_of(each) >= bank_.size);
    access.anywhere |= nowhere;
    if (!nowhere) access.origins.push_back({value_of(each), is_indexed(each)});
  }
  access.anywhere |= std::binary_search(sets_.of(at.low).begin(), sets_.of(at.low).end(), kTop);
  if (access.anywhere || !access.origins.empty()) {
    note(std::move(access));
  } else {
    note({pool_, pool_}, Mode::unknown);
  }
}

void Instructions::load_tensor(const Step& s) { note_tensor(s, Mode::read); }

void Instructions::store_tensor(const Step& s) { note_tensor(s, Mode::write); }

void Instructions::reduce_tensor(const Step& s) { note_tensor(s, Mode::atomic); }

// Assumes that every register among the operands is an address that may be read or written.
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

// Handles unknown instructions (of later architectures) that have a memory descriptor among their operands, such as
// "desc[UR4][R2.64]".
void Instructions::use_memory(const Step& s) {
  escape(s);
  forget_conditions(s);
  set_words(s, 0);
}

}  // namespace cudadiag::sass
