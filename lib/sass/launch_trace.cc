// The values that a single thread stores, and the order of its accesses.
#include <algorithm>

#include "sass/symbolic_execution.h"

namespace cudadiag::sass {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

std::uint64_t number_of_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3u;
  return hash;
}

std::uint64_t number_of_thread(const Box& thread) {
  std::uint64_t hash = 1;
  for (const std::uint32_t each : thread.low) hash = mixed(hash, each);
  return hash;
}

bool is_barrier_of_block(const Instruction& i) {
  const bool waits =
      i.opcode.find(".SYNC") != std::string_view::npos || i.opcode.find(".RED") != std::string_view::npos;
  if (!waits || i.operands.empty() || i.operands[0] != "0x0") return false;
  return std::all_of(i.operands.begin() + 1, i.operands.end(), is_predicate);
}

bool is_load_of_shared(const Instruction& i) {
  return i.code->space == Space::shared && i.uses_memory() && i.code->kind == AccessKind::load;
}

}  // namespace

bool is_strong(const Instruction& i) {
  return i.code->kind == AccessKind::atomic || i.opcode.find(".STRONG") != std::string_view::npos ||
         i.opcode.find(".MMIO") != std::string_view::npos;
}

void LaunchTrace::note_order(const Instruction& i, std::optional<bool> runs, BlockOrder& order) {
  if (runs && !*runs) return;
  if (i.code->joins == Joins::block) {
    if (!is_barrier_of_block(i)) {
      order.unclear = true;
    } else if (!runs) {
      note_wait(order);
    } else {
      ++order.barriers;
    }
  } else if (i.code->joins == Joins::others) {
    note_wait(order);
  }
}

void LaunchTrace::note_detour(const std::vector<const Instruction*>& code, bool loops, BlockOrder& order) {
  for (const Instruction* i : code) {
    if (!i->runs) continue;
    const bool of_barrier = i->code->joins >= Joins::block;
    const bool shared = i->uses_memory() && i->code->space == Space::shared;
    // A loop that loads may wait for a flag, even by a load that is not volatile.
    const bool sees_others = i->uses_memory() && i->code->result != Result::none && !shared;
    if (of_barrier || (loops && (sees_others || i->op == Op::call))) note_wait(order);
    order.unclear |= loops && shared;
  }
}

std::uint64_t ValueNumbers::of(Evaluator& evaluator, const Operand& operand, std::uint32_t half) {
  const Slot slot = operand.kind == Operand::Kind::slot ? operand.slot + half : kNone;
  const auto known = evaluator.number(evaluator.read(operand, half));
  std::uint64_t id = slot < kRegisters ? registers_[slot] : mixed(operand.offset, operand.slot);
  if (known) id = mixed(2, static_cast<std::uint64_t>(*known));
  return operand.is_plain() ? id : mixed(id, operand.negative ? 1 : 2);
}

std::uint64_t ValueNumbers::of(const Condition& condition) const {
  if (condition.slot == kNone) return condition.negated ? 5 : 4;
  return mixed(predicates_[condition.slot - kFirstPredicate], condition.negated ? 1 : 0);
}

std::uint64_t ValueNumbers::result(const Instruction& i, Evaluator& before, const Box& thread,
                                   const BlockOrder& order) {
  std::uint64_t hash = number_of_text(i.opcode);
  const bool shared = is_load_of_shared(i);
  if (alike_ && (shared || i.code->joins == Joins::lanes)) hash = mixed(hash, order.barriers);
  if (alike_ && i.code->joins == Joins::lanes) return hash;
  const bool own = i.op == Op::special || (i.uses_memory() && i.code->kind == AccessKind::atomic);
  if (own) return mixed(hash, number_of_thread(thread));
  if (shared && !alike_) hash = mixed(hash, shared_);
  if (i.uses_memory() && i.code->space == Space::local) return mixed(hash, stack_);
  const std::size_t first = i.code->result == Result::none ? 0 : 1;
  for (std::size_t at = first; at < i.operands.size(); ++at) {
    const auto registers = registers_in(i.operands[at]);
    if (registers.empty()) {
      const std::string_view text = i.operands[at];
      hash = mixed(hash, is_predicate(text) ? of(condition_of(text)) : number_of_text(text));
    }
    for (const Slot each : registers) {
      for (std::uint32_t half = 0; half < 2 && each + half < kRegisters; ++half) {
        Operand operand;
        operand.kind = Operand::Kind::slot;
        operand.slot = each + half;
        // Instructions read one register or a pair; the second one is harmless, except that it makes equal values
        // differ.
        const bool pair = i.has<"64">() || i.opcode.starts_with("D") || i.has<"WIDE">() || i.uses_memory();
        if (half == 0 || pair) hash = mixed(hash, of(before, operand, 0));
      }
    }
  }
  return hash;
}

void ValueNumbers::note(const Instruction& i, Evaluator& before, const Box& thread, const BlockOrder& order,
                        std::optional<std::uint64_t> place) {
  if (i.moves_whole() && !i.values.empty() && i.to() != kNone) {
    for (std::uint32_t half = 0; half < i.words && i.to() + half < kRegisters; ++half) {
      registers_[i.to() + half] = of(before, i.values[0], half);
    }
    return;
  }
  const std::uint64_t id = place ? mixed(7, *place) : result(i, before, thread, order);
  if (i.uses_memory() && i.code->kind == AccessKind::store) {
    if (i.code->space == Space::shared) shared_ = mixed(shared_, id);
    if (i.code->space == Space::local) stack_ = mixed(stack_, id);
  }
  std::uint32_t which = 0;
  i.written.each_register([&](Slot each) { registers_[each] = mixed(id, ++which); });
  for (std::uint32_t each = 0; each < predicates_.size(); ++each) {
    if ((i.written.predicates >> each & 1) != 0) predicates_[each] = mixed(id, 1000 + each);
  }
}

void ValueNumbers::may_change(const Instruction& i, std::uint64_t reason) {
  i.written.each_register([&](Slot each) { registers_[each] = mixed(mixed(registers_[each], reason), i.address); });
  for (std::uint32_t each = 0; each < predicates_.size(); ++each) {
    if ((i.written.predicates >> each & 1) != 0) predicates_[each] = mixed(mixed(predicates_[each], reason), i.address);
  }
}

}  // namespace cudadiag::sass
