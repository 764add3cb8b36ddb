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
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sass/flow.h"

namespace cudadiag::sass {

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

}  // namespace cudadiag::sass
