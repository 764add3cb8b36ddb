#include "sass/symbolic_execution.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace cudadiag::sass {
namespace {

constexpr std::size_t kMostRows = 16;  // for each parameter and mode; with more rows, the answer is unknown

bool is_global(const Instruction& i) {
  return i.uses_memory() && (i.code->space == Space::global || i.code->space == Space::generic);
}

// Returns true if the instruction may write to local memory. A generic address may refer to it.
bool writes_stack(const Instruction& i) {
  const bool reaches = i.code->space == Space::local || i.code->space == Space::generic;
  return i.code->shape == Shape::plain && reaches && mode_of(i) != Mode::read;
}

// Returns true if the address is a constant offset from the stack pointer.
bool is_at_stack_pointer(const Instruction& i) {
  return std::ranges::all_of(i.place, [](const AddressTerm& term) {
    return term.value.kind == Operand::Kind::number ||
           (term.value.kind == Operand::Kind::slot && term.value.slot == kStackPointer);
  });
}

// Returns true if a predicate among the operands may disable the access.
bool has_condition(const Instruction& i) {
  return !i.carries.empty() || !i.conditions.empty() || (mode_of(i) != Mode::atomic && !i.results.empty());
}

// The registers of the threads that are followed.
class ThreadInputs : public Inputs {
 public:
  ThreadInputs(const Box& box, const ThreadState& state, ParameterBank bank, const LaunchValues& launch)
      : box_(box), state_(state), bank_(bank), launch_(launch) {}

  Value word(Slot slot) override { return slot < kStack ? state_.registers[slot] : Value(); }
  Truth truth(Slot slot) override { return state_.predicates[slot - kFirstPredicate]; }

  Value bank(std::uint32_t offset) override {
    const std::uint32_t byte = offset - bank_.offset, word = byte & ~7u;
    const bool parameter = offset >= bank_.offset && byte < bank_.size && byte % 4 == 0;
    if (parameter && std::ranges::binary_search(launch_.addresses, word)) {
      return {byte == word ? Value::Kind::low : Value::Kind::high, word, {}};
    }
    const auto known = word_in_bank(bank_, offset, launch_.parameters, launch_.grid, launch_.block);
    return known ? number_of(*known) : Value();
  }

  Value special(std::string_view name) override {
    if (name == "SR_CgaCtaId" && launch_.shared_bytes != 0) return number_of(0);  // there are no clusters
    const auto axis = axis_of(name);
    return axis ? Value{Value::Kind::number, 0, in_box(coordinate(*axis), box_)} : Value();
  }

  std::uint64_t base_of(std::uint32_t word) override {
    return launch_.addresses_are_numbers ? launch_.word(word).value_or(0) : 0;
  }

 private:
  const Box& box_;
  const ThreadState& state_;
  const ParameterBank bank_;
  const LaunchValues& launch_;
};

// Returns whether the instruction moves numbers or parameters to registers that already contain them.
bool moves_what_is_there(const Instruction& i, const ThreadState& state, Evaluator& evaluator) {
  if (!i.moves_whole() || i.values.empty() || i.to() == kNone) return false;
  const Operand& from = i.values.front();
  const bool fixed = from.kind == Operand::Kind::number || (from.kind == Operand::Kind::bank && from.slot == kNone);
  if (!fixed || !from.is_plain()) return false;
  for (std::uint32_t half = 0; half < i.words; ++half) {
    const Value moved = evaluator.read(from, half);
    if (i.to() + half >= kStack || moved.kind == Value::Kind::unknown) return false;
    if (moved != state.registers[i.to() + half]) return false;
  }
  return true;
}

}  // namespace

void ThreadState::forget(const Written& written) {
  if (written.everything) {
    registers.fill({});
    predicates.fill({});
    return;
  }
  for (std::uint32_t rest = written.predicates; rest != 0; rest &= rest - 1) predicates[std::countr_zero(rest)] = {};
  written.each_register([this](Slot each) { registers[each] = {}; });
}

std::optional<Box> all_threads(const LaunchValues& launch) {
  Box all;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (launch.block[axis] == 0 || launch.grid[axis] == 0) return std::nullopt;
    all.high[axis] = launch.block[axis] - 1;
    all.high[axis + 3] = launch.grid[axis] - 1;
  }
  return all;
}

std::vector<ParameterBytes> FollowedLaunch::bytes() {
  std::vector<ParameterBytes> out;
  const auto threads = all_threads(launch_);
  const bool all_known = threads && follow(*threads) && !none_known_;
  for (const auto& [key, lattices] : used_) {
    const auto& [word, mode] = key;
    if (too_many_.contains(key)) continue;
    auto rows = lattices.rows(kMostRows);
    if (rows) {
      out.push_back({word, mode, std::move(*rows)});
    } else {
      not_known_.insert(word);
    }
  }
  std::vector<std::uint32_t> words = launch_.addresses;
  for (const Image& image : launch_.images) words.push_back(image.parameter);
  for (const std::uint32_t word : words) {
    const auto used = used_.lower_bound({word, Mode::unknown});
    const bool unused = used == used_.end() || used->first.first != word;
    if (unused && all_known && !not_known_.contains(word)) out.push_back({word, Mode::none, {}});
  }
  for (ParameterBytes& each : out) each.all = all_known && !not_known_.contains(each.parameter);
  return out;
}

CertainAccesses FollowedLaunch::certain(const Box& threads) {
  CertainAccesses out;
  follows_detours_ = true;
  out.all_listed = follow(threads);
  if (out.all_listed) follow_detours();
  out.open = open_accesses();
  for (auto& [key, access] : certain_) out.accesses.push_back(access);
  for (auto& [key, access] : possible_) out.possible.push_back(access);
  return out;
}

FollowedLaunch::Part FollowedLaunch::take_last(std::vector<Part>& parts) {
  Part part = std::move(parts.back());
  parts.pop_back();
  return part;
}

// If following a detour takes too long or reaches unknown code, all of its accesses are open.
void FollowedLaunch::follow_detours() {
  most_steps_ += steps_;
  while (!detours_.empty()) {
    const Detours::Detour* within = detours_.back().within;
    open_.push_back(take_last(detours_));
    parts_ = 1;
    while (!open_.empty()) {
      if (follow(take_last(open_))) continue;
      for (const std::uint32_t at : within->code) give_up_on(at);
      open_.clear();
    }
  }
}

void FollowedLaunch::trace(const Box& threads, LaunchTrace& to) {
  trace_ = &to;
  open_.push_back({threads, {}});
  while (!open_.empty()) follow(take_last(open_));
  to.complete &= std::ranges::none_of(open_accesses_, [&](std::uint32_t at) { return is_global(code_.program[at]); });
}

bool FollowedLaunch::follow(const Box& threads) {
  open_.push_back({threads, {}});
  while (!open_.empty()) {
    if (!follow(take_last(open_))) return false;
  }
  return true;
}

// Returns false if this takes too long, or if a part reaches unknown code.
bool FollowedLaunch::follow(Part part) {
  ThreadInputs inputs(part.box, part.state, code_.bank, launch_);
  Evaluator evaluator(part.box, inputs);
  Next next = Next::on;
  while (next == Next::on) {
    evaluator.forget_cut();
    const bool may_go_on = ++steps_ <= most_steps_ && part.state.at < code_.program.size();
    next = may_go_on ? step(part, evaluator) : Next::lost;
  }
  // The threads may do anything from here on.
  if (next == Next::lost && trace_ != nullptr) trace_->complete = false, trace_->note_wait(part.state.order);
  return next != Next::lost;
}

// If there would be too many parts, the result of the instruction is unknown.
FollowedLaunch::Next FollowedLaunch::part_where(Part& part, const Cut& cut_here) {
  std::vector<Box> boxes;
  const bool is_cut = cut(part.box, cut_here, most_parts_, boxes) && boxes.size() > 1;
  if (!is_cut || parts_ + boxes.size() > most_parts_) {
    if (!follows_detours_) return Next::lost;
    give_up_on(part.state.at);
    if (writes_stack(instruction(part))) part.state.stack.clear();
    return after(part);
  }
  parts_ += boxes.size();
  // Push in reverse, so that the first box is followed first and its bytes are joined in order.
  for (auto box = boxes.rbegin(); box != boxes.rend(); ++box) open_.push_back({*box, part.state, part.within});
  return Next::parted;
}

// Continues after the instruction. Forgets what it may have written, except the words that it loaded.
FollowedLaunch::Next FollowedLaunch::after(Part& part, const std::vector<Value>& loaded) {
  const Instruction& i = instruction(part);
  part.state.forget(i.written);
  for (std::size_t word = 0; word < loaded.size() && i.to() + word < kUniform; ++word) {
    part.state.registers[i.to() + word] = loaded[word];
  }
  return skip(part);
}

FollowedLaunch::Next FollowedLaunch::step(Part& part, Evaluator& evaluator) {
  const std::uint32_t at = part.state.at;
  if (part.within != nullptr && at == part.within->meets) return Next::ended;
  const Instruction& i = instruction(part);
  if (!i.runs) return skip(part);
  if (trace_ != nullptr) trace_->note_order(i, evaluator.holds(i.condition), part.state.order);
  if (i.op == Op::nothing || (i.op == Op::meet && i.target == kNone)) return after(part);
  const auto holds = evaluator.holds(i.condition);
  if (holds.value_or(true)) note_values(part, evaluator, holds.has_value());
  if (holds && !*holds) return skip(part);
  if (!holds) {
    if (i.op == Op::jump || (i.op == Op::exit && i.operands.empty())) return detour(part, evaluator);
    if (i.op >= Op::meet && i.op != Op::set_barrier) return Next::lost;
    if (follows_detours_ && is_in_shared(i, evaluator, part.box)) return after(part);
    if (evaluator.needed_cut()) return part_where(part, *evaluator.needed_cut());
    const bool may_be_known = follows_detours_ && i.uses_memory() && is_global(i) && i.code->shape == Shape::plain;
    const auto address = may_be_known ? evaluator.address(i) : std::nullopt;
    if (evaluator.needed_cut()) return part_where(part, *evaluator.needed_cut());
    const bool known = address && range_of(address->form, part.box);
    give_up_on(at, !known);
    if (known) {
      note_known(part, *address, false);
      if (mode_of(i) != Mode::read) loaded(at, *address, part.box);
    }
    if (writes_stack(i)) part.state.stack.clear();
    return after(part);
  }
  switch (i.op) {
    case Op::jump:
      return jump(part, evaluator);
    case Op::exit:
      return i.operands.empty() ? Next::ended : Next::lost;  // the operand is a second condition
    case Op::set_barrier:
      part.state.barriers[i.barrier] = i.target;
      break;
    case Op::sync:
      if (part.state.barriers[i.barrier] == kNone) return Next::lost;
      return go_to(part, part.state.barriers[i.barrier]);
    case Op::call:
    case Op::back:
      return call(part, evaluator);
    case Op::meet:
    case Op::table_jump:
    case Op::stop:
      return Next::lost;
    case Op::access:
      return access(part, evaluator);
    default:
      give_up_on(at);
      compute(part, evaluator);
      if (evaluator.needed_cut()) return part_where(part, *evaluator.needed_cut());
      break;
  }
  return skip(part);
}

void FollowedLaunch::compute(Part& part, Evaluator& evaluator) {
  const Instruction& i = instruction(part);
  // The stack pointer's value does not matter, because code only uses it for addresses of the stack.
  constexpr std::int64_t kTop = 1 << 24;
  evaluator.evaluate(i, part.state.at);
  if (evaluator.needed_cut()) return;
  part.state.forget(i.written);
  for (const auto& [slot, value] : evaluator.values()) part.state.registers[slot] = value;
  for (const auto& [slot, truth] : evaluator.truths()) part.state.predicates[slot - kFirstPredicate] = truth;
  Value& pointer = part.state.registers[kStackPointer];
  const bool sets_pointer = i.op == Op::move && i.to() == kStackPointer && i.words == 1 && !i.values.empty() &&
                            i.values[0].kind == Operand::Kind::bank && i.values[0].slot == kNone;
  if (sets_pointer && pointer.kind == Value::Kind::unknown) pointer = number_of(kTop);
}

// Handles "BRA.U UP0, 0x100". If there are two operands, the first is a condition.
FollowedLaunch::Next FollowedLaunch::jump(Part& part, Evaluator& evaluator) {
  const Instruction& i = instruction(part);
  // The code at the target of "BRA.DIV" has the same effect as the next instruction, but for warps that have diverged.
  if (i.has<"DIV">()) return skip(part);
  if (i.target == kNone || i.has<"CONV">() || i.operands.size() > 2) return Next::lost;
  if (i.operands.size() == 2) {
    if (i.results.empty()) return Next::lost;
    const auto holds = evaluator.holds(i.results[0]);
    if (!holds) return detour(part, evaluator);
    if (!*holds) return skip(part);
  }
  return go_to(part, i.target);
}

// Calls a function in the same code, or returns from one. A register contains the return address.
FollowedLaunch::Next FollowedLaunch::call(Part& part, const Evaluator& evaluator) {
  const Instruction& i = instruction(part);
  if (i.op == Op::call) return i.target == kNone ? Next::lost : go_to(part, i.target);
  const Slot slot = i.operands.empty() ? kNone : register_of(i.operands[0]);
  if (slot == kNone || slot >= kStack || !i.has<"REL">()) return Next::lost;
  const auto back = evaluator.number(part.state.registers[slot]);
  for (std::uint32_t at = 0; back && at < code_.program.size(); ++at) {
    if (code_.program[at].address == static_cast<std::uint64_t>(*back)) return go_to(part, at);
  }
  return Next::lost;
}

// Continues where the threads meet again. Forgets what any of them may have written on the way.
FollowedLaunch::Next FollowedLaunch::detour(Part& part, Evaluator& evaluator) {
  const Detours::Detour* found = code_.detours.from(part.state.at);
  if (found == nullptr || !found->known) return Next::lost;
  const std::uint32_t from = part.state.at;
  // A detour that leads back to its beginning is followed once, with all that it writes forgotten.
  const bool repeats = std::ranges::find(found->code, from) != found->code.end();
  const bool again = repeats && part.within == found;
  const bool followed = again || will_follow(part, *found);
  ThreadState before = followed && !repeats ? part.state : ThreadState();
  for (const std::uint32_t at : found->code) {
    give_up_on(at, !followed);
    const Instruction& i = code_.program[at];
    if (!moves_what_is_there(i, part.state, evaluator)) part.state.forget(i.written);
    if (writes_stack(i)) part.state.stack.clear();
    if (i.op == Op::set_barrier) part.state.barriers[i.barrier] = kNone;
  }
  note_detour(part, *found);
  steps_ += found->code.size();
  for (const std::uint32_t begin : code_.program.next(from)) {
    if (!followed || again || begin == found->meets) continue;
    detours_.push_back({part.box, repeats ? part.state : before, found});
    detours_.back().state.at = begin;
  }
  return found->meets == kNone ? Next::ended : go_to(part, found->meets);
}

bool FollowedLaunch::will_follow(const Part& part, const Detours::Detour& detour) {
  const bool accesses = std::ranges::any_of(
      detour.code, [&](std::uint32_t at) { return code_.program[at].runs && code_.program[at].uses_memory(); });
  return follows_detours_ && accesses && ++detours_from_[part.state.at] <= kMostDetours;
}

// `open`: it is unknown which memory the instruction may access.
void FollowedLaunch::give_up_on(std::uint32_t at, bool open) {
  const Instruction& i = code_.program[at];
  if (open && i.runs && i.uses_memory()) note_open(at);
  const MayAccess* may = may_access(at);
  // A store without an origin goes through an address from memory.
  const bool from_memory = may == nullptr || may->anywhere || may->words.empty();
  stores_anywhere_ |= i.runs && is_global(i) && mode_of(i) != Mode::read && from_memory;
  forget_bytes_of(at);
}

// Returns whether all threads of the box use the block's own shared memory, at multiples of the access's size. Returns
// false for instructions that access other bytes than those at their address.
bool FollowedLaunch::is_in_shared(const Instruction& i, Evaluator& evaluator, const Box& box) const {
  const std::string_view base = i.base();
  const bool plain = base == "LDS" || base == "STS" || base == "ATOMS";
  if (launch_.shared_bytes == 0 || !plain || i.bytes == 0) return false;
  const auto address = evaluator.address(i);
  const auto range = address && !address->word ? range_of(address->form, box) : std::nullopt;
  return range && range->least >= 0 && range->most + i.bytes <= launch_.shared_bytes &&
         is_multiple(address->form, i.bytes);
}

std::vector<OpenAccess> FollowedLaunch::open_accesses() const {
  std::vector<OpenAccess> out;
  for (const std::uint32_t at : open_accesses_) {
    const Instruction& i = code_.program[at];
    const MayAccess* may = may_access(at);
    OpenAccess& access = out.emplace_back();
    if (!has_address(i) || i.code->kind == AccessKind::copy) continue;  // a copy has another address in shared memory
    access.space = i.code->space;
    access.instruction = i.address;
    access.kind = i.code->kind;
    access.bytes = i.bytes;
    if (!is_global(i)) continue;
    const bool only_words = may != nullptr && !may->anywhere && !may->other && !may->handle;
    if (only_words) access.words.assign(may->words.begin(), may->words.end());
  }
  return out;
}

void FollowedLaunch::forget_bytes_of(std::uint32_t at) {
  const MayAccess* may = may_access(at);
  if (may == nullptr) return;
  none_known_ |= may->anywhere;
  not_known_.insert(may->words.begin(), may->words.end());
  if (may->handle) not_known_.insert(*may->handle);
}

FollowedLaunch::Next FollowedLaunch::access(Part& part, Evaluator& evaluator) {
  const std::uint32_t at = part.state.at;
  const Instruction& i = instruction(part);
  if (i.code->shape == Shape::box) return box_access(part, evaluator);
  if (i.code->shape == Shape::surface || i.code->shape == Shape::texture) return image_access(part, evaluator);
  if (i.code->space == Space::local) return local_access(part, evaluator);
  if (i.code->space == Space::shared || i.code->shape != Shape::plain) {
    if (is_in_shared(i, evaluator, part.box)) return after(part);
    if (evaluator.needed_cut()) return part_where(part, *evaluator.needed_cut());
    // A store to shared memory has no effect that is followed.
    i.code->kind == AccessKind::store ? note_open(at) : give_up_on(at);
    return after(part);
  }
  const auto address = has_condition(i) ? std::nullopt : evaluator.address(i);
  if (evaluator.needed_cut()) return part_where(part, *evaluator.needed_cut());
  const std::uint32_t width = i.bytes;
  const bool known = address && range_of(address->form, part.box);
  const auto values = known ? loaded(at, *address, part.box) : Loaded();
  if (values.cut) return part_where(part, *values.cut);
  if (known) note_known(part, *address, true);
  if (known) note_access(part, *address, evaluator);
  if (known && address->word) {
    add_access(*address->word, mode_of(i), width, address->form, part.box);
  } else {
    known ? forget_bytes_of(at) : give_up_on(at);
  }
  // An address that is based on a word, or on none but known, is global.
  if (!known && writes_stack(i)) part.state.stack.clear();
  return after(part, values.registers);
}

// Follows the thread's own stack, if the address is the same for all threads of the part.
FollowedLaunch::Next FollowedLaunch::local_access(Part& part, Evaluator& evaluator) {
  const std::uint32_t at = part.state.at;
  const Instruction& i = instruction(part);
  const bool loads = i.code->kind == AccessKind::load;
  const auto address = evaluator.address(i);
  if (evaluator.needed_cut()) return part_where(part, *evaluator.needed_cut());
  const std::uint32_t width = i.bytes;
  const bool known =
      address && !address->word && address->form.is_constant() && width >= 4 && (loads || !i.values.empty());
  const auto first = known ? static_cast<std::uint32_t>(address->form.base) : 0;
  auto& stack = part.state.stack;
  std::vector<Value> loaded;
  for (std::uint32_t word = 0; known && word < width / 4; ++word) {
    if (loads) {
      const auto found = stack.find(first + 4 * word);
      loaded.push_back(found == stack.end() ? Value() : found->second);
    } else {
      stack[first + 4 * word] = evaluator.read(i.values.back(), word);
    }
  }
  if (!known && !loads) stack.clear();
  // An index into a local array may reach past the thread's local memory. A constant offset from the stack pointer does
  // not, unless recursion has moved the stack pointer.
  if (!known || !is_at_stack_pointer(i) || code_.program.is_recursive()) note_open(at);
  return after(part, loaded);
}

std::optional<FollowedLaunch::Span> FollowedLaunch::span_of(const Evaluator::Address& address, std::uint32_t width,
                                                            const Box& box) const {
  const auto range = range_of(address.form, box);
  const auto base = address.word ? launch_.word(*address.word) : std::optional(std::uint64_t{0});
  if (!range || !base) return std::nullopt;
  return Span{*base + static_cast<std::uint64_t>(range->least),
              *base + static_cast<std::uint64_t>(range->most) + width};
}

// Also notes which known memory is loaded, and which memory is stored to.
FollowedLaunch::Loaded FollowedLaunch::loaded(std::uint32_t at, const Evaluator::Address& address, const Box& box) {
  constexpr std::uint64_t kMostPlaces = 512;  // a box is cut into at most this many parts
  const Instruction& i = code_.program[at];
  const std::uint32_t width = i.bytes;
  Loaded out;
  if (launch_.memory.empty()) return out;
  const auto span = span_of(address, width, box);
  if (mode_of(i) != Mode::read) {
    span ? stored_.push_back(*span) : void(stores_anywhere_ = true);
    return out;
  }
  if (!span) return out;
  const auto memory = std::ranges::find_if(launch_.memory, [&](const KnownMemory& each) {
    return span->begin >= each.address && span->end <= each.address + each.bytes.size();
  });
  const bool plain = i.code->kind == AccessKind::load && i.to() != kNone;
  if (memory == launch_.memory.end() || !plain) return out;
  if (const Form& form = address.form; !form.is_constant()) {
    std::int64_t step = 0;
    for (const std::int64_t each : form.steps) step = std::gcd(step, each);
    const std::uint64_t extent = span->end - span->begin - width;
    if (extent / static_cast<std::uint64_t>(step) >= kMostPlaces) return out;
    const auto range = range_of(form, box);
    out.cut = Cut{form, range->least + (range->most - range->least + 1) / 2};
    return out;
  }
  const std::size_t offset = span->begin - memory->address;
  if (offset % width != 0) return out;
  loaded_.push_back(*span);
  const auto which = static_cast<std::size_t>(memory - launch_.memory.begin());
  if (width < 4) {
    const bool with_sign = i.has<"S8">() || i.has<"S16">();
    std::uint32_t value = 0;
    std::memcpy(&value, memory->bytes.data() + offset, width);
    const std::uint32_t sign = 1u << (8 * width - 1);
    if (with_sign && (value & sign) != 0) value |= ~(2 * sign - 1);
    out.registers = {number_of(value)};
    return out;
  }
  for (std::size_t half = offset; half < offset + width; half += 4) {
    const std::uint32_t word = word_in(which, half);
    // Halves of addresses that are loaded apart are numbers.
    if (width >= 8 && std::ranges::binary_search(launch_.addresses, word)) {
      out.registers.push_back({half % 8 == 0 ? Value::Kind::low : Value::Kind::high, word, {}});
      continue;
    }
    std::uint32_t value = 0;
    std::memcpy(&value, memory->bytes.data() + half, sizeof value);
    out.registers.push_back(number_of(value));
    if (width >= 8 && half % 8 == 0) loaded_numbers_.insert(word);
  }
  return out;
}

bool FollowedLaunch::changes_what_it_reads() const {
  if (loaded_.empty()) return false;
  return stores_anywhere_ || std::ranges::any_of(stored_, [&](const Span& stored) {
           return std::ranges::any_of(
               loaded_, [&](const Span& loaded) { return stored.begin < loaded.end && loaded.begin < stored.end; });
         });
}

void FollowedLaunch::add_access(std::uint32_t word, Mode mode, std::uint32_t width, const Form& form, const Box& box) {
  const std::pair key(word, mode);
  if (too_many_.contains(key) || used_[key].add(form, width, box)) return;
  too_many_.insert(key);
  not_known_.insert(word);
}

// `runs`: all threads of the part execute the instruction if they come here.
void FollowedLaunch::note_known(const Part& part, const Evaluator::Address& address, bool runs) {
  const std::uint32_t at = part.state.at;
  if (instruction(part).code->kind == AccessKind::copy) note_open(at);
  if (runs && part.within == nullptr) return note(certain_, at, address, part.box);
  address.word ? note(possible_, at, address, part.box) : note_open(at);
}

// The lowest and the highest positions occur at corners of the box.
void FollowedLaunch::note(Noted& to, std::uint32_t at, const Evaluator::Address& address, const Box& box) {
  const auto range = range_of(address.form, box);
  const Instruction& i = code_.program[at];
  if (!range) return;
  const auto [known, fresh] = to.try_emplace({at, address.word});
  CertainAccess& access = known->second;
  if (fresh) {
    access = {i.address, i.code->kind, i.code->space, i.bytes, address.word, range->least, range->most, 0};
  }
  for (std::size_t axis = 0; axis < kCoordinates; ++axis) {
    if (box.low[axis] != box.high[axis]) access.step = std::gcd(access.step, address.form.steps[axis]);
  }
  access.step = std::gcd(access.step, range->least - access.least);
  access.least = std::min(access.least, range->least);
  access.most = std::max(access.most, range->most);
}

}  // namespace cudadiag::sass
