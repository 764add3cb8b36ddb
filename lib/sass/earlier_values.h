// Computes the values that a thread's registers and predicates had before an instruction that it executed. Internal to
// lib/sass.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sass/control_flow.h"
#include "sass/evaluator.h"
#include "sass/launch_values.h"

namespace cudadiag::sass {

// Finds the instructions that a thread may have executed before and after the failing one. Internal to lib/sass.
//
// A thread fails at one instruction and stops at another. For a register and an earlier instruction, this class finds
// out whether the register may have been written between that instruction and the stop. It also finds the last
// instruction that wrote to a register before a given instruction. A Moment is one execution of an instruction. If
// `latest` is true, it is the latest execution before the failure. If `latest` is false, the instruction may have run
// again since, and the answer holds for every execution.
//
// The thread stops some time after the failure, but before any instruction that needs the value of the failed load.
// Paths through these instructions are excluded.
class Paths {
 public:
  using At = std::uint32_t;  // index of an instruction

  struct Moment {
    At at = 0;
    bool latest = true;
    auto operator<=>(const Moment&) const = default;
  };

  // `program` must outlive this object.
  Paths(const Program& program, At failing);

  const Program& program() const { return program_; }
  At failing() const { return failing_; }

  // Returns whether a thread may have stopped at `stands`.
  bool can_stand(At stands);
  // Returns whether the slot was not written from `moment` (inclusive) until the thread stopped.
  bool is_untouched(Slot slot, Moment moment, At stands);
  // Returns whether the slot was not written from `moment` (inclusive) until the failing instruction (exclusive).
  bool is_untouched_before(Slot slot, Moment moment);
  // Returns the last execution of `by` before `moment`.
  Moment last_before(At by, Moment moment);
  // Returns the only instruction that wrote to the slot since the failing instruction (inclusive); nullopt unless it
  // ran exactly once.
  std::optional<At> written_once_since(Slot slot, At stands);
  bool is_repeated(At at);

  enum class Guard { holds, fails, unknown };
  // Returns the instruction that last wrote to the slot before `at`; nullopt unless it is the same on all paths.
  // `guard` evaluates the conditions of instructions.
  std::optional<At> definition(Slot slot, At at, const std::function<Guard(At)>& guard);
  // Returns all instructions that may have been the last to write to the slot before `at`. Returns nullopt if code
  // outside this program may have been the last to write.
  std::optional<std::vector<At>> definitions(Slot slot, At at);

  // A limit for all searches together.
  static constexpr std::uint64_t kMostSteps = 20'000'000;

 private:
  using Marks = std::vector<bool>;
  struct Since {
    bool reachable = false;
    bool straight = false;  // every instruction in between ran exactly once
    std::vector<At> executed;
  };

  Marks reach(const std::vector<At>& from, const std::vector<std::vector<At>>& edges, const Marks& barred);
  enum class Search { on, done, unclear };
  // Calls `visit` once with each instruction from which control can come to `at`, and with those before it while
  // `visit` returns Search::on. Returns false if the search is unclear, reaches the beginning of the code, or takes too
  // long.
  template <typename Visit>
  bool search_back(At at, const Visit& visit);
  const Since& since(At stands);
  const std::vector<At>& until_failing(Moment moment);
  bool waits_for_failing(At at) const;
  bool spent() { return ++steps_ > kMostSteps; }

  const Program& program_;
  const At failing_;
  std::vector<std::vector<At>> next_, before_;
  std::vector<bool> is_entry_;
  Marks barred_, none_;
  std::map<At, Since> since_;  // keyed by where the thread stopped
  std::map<Moment, std::vector<At>> until_;
  std::map<std::pair<Slot, Moment>, bool> untouched_until_;
  std::uint64_t steps_ = 0;
};

class EarlierValues {
 public:
  using At = Paths::At;
  using Moment = Paths::Moment;

  // If `lane` is null, computes values from the code and the launch alone. All arguments must outlive this object.
  EarlierValues(Paths& paths, ParameterBank bank, const LaunchState& launch, const LaneState* lane);

  // Returns the value of a register, or 0 or 1 for a predicate, as it was just before `moment`; nullopt if unknown.
  std::optional<std::uint32_t> value(Slot slot, Moment moment);
  Base base(Slot slot, Moment moment);
  const std::set<std::string_view>& unknown_opcodes() const { return unknown_; }

 private:
  // The parameter words that are terms of a value. `others`: the value also has terms that are not parameters. `made`:
  // one of these does not come from a load of global memory. `mixed`: the terms differ between paths. `open`: the value
  // depends on itself in a loop, so its terms come from the path into the loop.
  struct Sum {
    bool open = false, mixed = false, others = false, made = false;
    std::set<std::uint32_t> words{};
    std::set<std::uint32_t> through{};  // of the addresses from which other terms were loaded
    bool operator==(const Sum&) const = default;
  };
  using Key = std::pair<Slot, Moment>;

  class InputsBefore;
  class InputsSince;

  std::optional<std::uint32_t> kept(Slot slot) const;
  std::optional<std::uint32_t> undone(Slot slot, Moment moment);
  std::optional<std::uint32_t> computed(Slot slot, Moment moment);
  Value constant(std::uint32_t offset) const;
  Value variable(std::uint32_t offset) const;
  Value special(std::string_view name) const;
  std::optional<At> definition(Slot slot, Moment moment);
  std::optional<bool> holds(const Condition& condition, Moment moment);

  static const Sum kMade;
  Sum sum_of(Slot slot, Moment moment);
  Sum sum_made_by(Moment moment, std::uint32_t half);
  Sum loaded(const Instruction& i, Moment moment);
  Sum sum_of_operand(const Operand& operand, std::uint32_t half, Moment moment);
  static Sum joined(const Sum& a, const Sum& b);
  static Sum added(const Sum& a, const Sum& b);

  Paths& paths_;
  const Program& program_;
  const ParameterBank bank_;
  const LaunchState& launch_;
  const LaneState* lane_;
  Box thread_;
  At stands_ = kNone;
  std::map<Key, std::optional<std::uint32_t>> values_;
  std::map<Key, Sum> sums_;
  std::set<Key> summing_;
  std::set<std::string_view> unknown_;
  int depth_ = 0;
  std::size_t sums_done_ = 0;
};

}  // namespace cudadiag::sass
