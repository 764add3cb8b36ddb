// Follows all paths through a kernel's code, until the origins of registers and memory no longer change.
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sass/origin_steps.h"

namespace cudadiag::sass {
namespace {

constexpr std::size_t kMostSteps = 4'000'000;  // including repeated visits; instructions are visited until nothing
                                               // changes

class Walk {
 public:
  Walk(const Program& program, Instructions& instructions, OriginSets& sets)
      : program_(program), instructions_(instructions), sets_(sets), state_(sets) {}

  bool run() {
    entries_[0] = {};
    open_.insert(0);
    // Repeat until no visit stores anything new in shared or local memory.
    for (bool again = true; again;) {
      const std::uint32_t before = instructions_.memory_version();
      while (!open_.empty()) {
        if (!block(open_.extract(open_.begin()).value())) return false;
      }
      again = instructions_.memory_version() != before;
      for (const auto& [block, held] : entries_) {
        if (again) open_.insert(block);
      }
    }
    // Record accesses only now, because the origins of all addresses are complete.
    instructions_.begin_noting();
    for (const auto& [begin, held] : entries_) pass(begin);
    return true;
  }

 private:
  struct Returned {
    Registers::Held held{};
    const std::vector<std::uint32_t>* altered = nullptr;
  };

  // Executes the basic block that begins at `at`. Returns its last instruction.
  std::uint32_t pass(std::uint32_t at) {
    state_.enter(entries_[at]);
    for (;; ++at) {
      ++steps_;
      instructions_.step(at, state_);
      if (!program_.falls_through(at)) return at;
    }
  }

  bool block(std::uint32_t begin) {
    const std::uint32_t last = pass(begin);
    const Instruction& end = program_[last];
    // The called function may have recomputed any condition.
    if (end.op == Op::call) state_.forget_conditions();
    for (const std::uint32_t to : program_.next(last)) arrive(to, state_.leave(known_at(end, to == last + 1)));
    for (const Program::Return& back : program_.returns(last)) {
      Returned& returned = returned_[back.to];
      returned.altered = back.altered;
      for (const std::uint32_t each : *back.altered) {
        returned.held[each] = sets_.either(returned.held[each], state_.held()[each]);
      }
      bring_back(back.to);
    }
    return steps_ <= kMostSteps && !sets_.full();
  }

  // Returns the condition that is true after a branch or exit: at the next instruction if `behind` is true, otherwise
  // at the target.
  static std::uint32_t known_at(const Instruction& end, bool behind) {
    const std::uint32_t predicate = condition_number(end.condition);
    // "@P0 EXIT P1" depends on two conditions.
    const bool plain =
        (end.opcode == "EXIT" && end.operands.empty()) || (end.opcode == "BRA" && end.operands.size() == 1);
    if (!plain || predicate == kNone) return kNone;
    return behind ? predicate ^ 1 : predicate;
  }

  void arrive(std::uint32_t block, Registers::State state) {
    const auto known = entries_.find(block);
    if (known != entries_.end()) {
      if (state_.join(known->second, state)) open_.insert(block);
      return;
    }
    entries_.emplace(block, std::move(state));
    open_.insert(block);
    bring_back(block);
  }

  // Merges the registers that a function alters into the state after its return. The other registers come from the
  // call, so the call must have been visited.
  void bring_back(std::uint32_t block) {
    const auto entry = entries_.find(block);
    const auto returned = returned_.find(block);
    if (entry == entries_.end() || returned == returned_.end()) return;
    for (const std::uint32_t each : *returned->second.altered) {
      OriginSets::Id& held = entry->second.held[each];
      const OriginSets::Id joined = sets_.either(held, returned->second.held[each]);
      if (joined != held) open_.insert(block);
      held = joined;
    }
  }

  const Program& program_;
  Instructions& instructions_;
  OriginSets& sets_;
  Registers state_;
  std::map<std::uint32_t, Registers::State> entries_;  // at the beginning of each basic block
  std::map<std::uint32_t, Returned> returned_;         // from called functions, keyed by the block after the call
  std::set<std::uint32_t> open_;                       // lowest first, so that earlier blocks are mostly known
  std::size_t steps_ = 0;
};

}  // namespace

bool walk(const Program& program, Instructions& instructions, OriginSets& sets) {
  return Walk(program, instructions, sets).run();
}

KernelAccesses read_sass(std::string_view text, ParameterBank bank, Calls calls, ZeroWords zeros) {
  const Program program(text);
  OriginSets sets;
  Instructions instructions(program, bank, calls, zeros, sets);
  if (program.empty() || !walk(program, instructions, sets)) return {};
  return {true, instructions.accesses(), {}};
}

}  // namespace cudadiag::sass
