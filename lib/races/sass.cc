#include "races/sass.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "races/sass_flow.h"
#include "races/sass_instructions.h"
#include "races/sass_registers.h"

namespace cudadiag::races {
namespace {

constexpr std::size_t kMostSteps = 4'000'000;  // instructions gone through, again and again until nothing changes

// Goes through a program until no path brings anything new.
class Walk {
 public:
  Walk(const Program& program, Instructions& instructions, OriginSets& sets)
      : program_(program), instructions_(instructions), sets_(sets), state_(sets) {}

  // False: it takes too long.
  bool run() {
    entries_[0] = {};
    open_.push_back(0);
    // Until the pool of shared and local memory holds still, too.
    for (bool again = true; again;) {
      const OriginSets::Id pool_before = instructions_.pool();
      if (!run_open()) return false;
      again = instructions_.pool() != pool_before;
      if (!again) break;
      for (const auto& [block, held] : entries_) open_.push_back(block);
    }
    return true;
  }

 private:
  bool run_open() {
    while (!open_.empty()) {
      std::uint32_t at = open_.back();
      open_.pop_back();
      state_.enter(entries_[at]);
      for (;; ++at) {
        if (++steps_ > kMostSteps || sets_.full()) return false;
        instructions_.step(program_[at], state_);
        if (!program_.falls_through(at)) break;
      }
      for (const std::uint32_t to : program_.next(at)) arrive(to);
    }
    return true;
  }

  void arrive(std::uint32_t block) {
    const auto [known, fresh] = entries_.try_emplace(block, state_.held());
    const bool changed = fresh || state_.join_into(known->second);
    if (changed && std::find(open_.begin(), open_.end(), block) == open_.end()) open_.push_back(block);
  }

  const Program& program_;
  Instructions& instructions_;
  OriginSets& sets_;
  Registers state_;
  std::map<std::uint32_t, Registers::Held> entries_;  // of blocks
  std::vector<std::uint32_t> open_;
  std::size_t steps_ = 0;
};

}  // namespace

KernelAccesses read_sass(std::string_view text, ParameterBank bank, Calls calls) {
  const Program program(text);
  OriginSets sets;
  Instructions instructions(program, bank, calls, sets);
  if (program.empty() || !Walk(program, instructions, sets).run()) return {};
  return {true, instructions.accesses()};
}

}  // namespace cudadiag::races
