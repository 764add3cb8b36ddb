// The instructions that may run before and after the failing one. Internal to lib/sass.
//
// A thread failed at one instruction and stopped at another. This class answers two questions: whether anything may
// have written a register between an earlier instruction and now, and which instruction may have written it before
// that. For an instruction in a loop, `latest` means its latest execution before the failure. If it may have run again
// since the execution in question, `latest` is false, and the answer must be right for every execution.
//
// The hardware continues for some time before it stops. However, no thread gets past an instruction that needs the
// value that the failing one was to load. A path through such an instruction therefore does not count.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sass/code/flow.h"
#include "sass/code/written.h"

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
  const Written& written(At at) const { return written_[at]; }

  // Returns whether a thread may have stopped at `stands`.
  bool can_stand(At stands);
  // Returns whether nothing wrote the slot between `moment`, its own instruction included, and the stop of the thread.
  bool is_untouched(Slot slot, Moment moment, At stands);
  // Returns whether nothing writes the slot from `moment` up to, but not including, the failing instruction.
  bool is_untouched_before(Slot slot, Moment moment);
  // Returns the last execution of `by` before `moment`.
  Moment last_before(At by, Moment moment);
  // Returns the only instruction to write the slot at or after the failing one, if it ran exactly once.
  std::optional<At> written_once_since(Slot slot, At stands);
  bool is_repeated(At at);

  enum class Guard { holds, fails, unknown };
  // Returns the one instruction that last wrote the slot before `at`. `guard` evaluates the conditions of instructions.
  std::optional<At> definition(Slot slot, At at, const std::function<Guard(At)>& guard);
  // Returns all instructions that may have been the last to write the slot before `at`; nullopt if one outside this
  // code may have been.
  std::optional<std::vector<At>> definitions(Slot slot, At at);

  // Limits the steps of all searches together.
  static constexpr std::uint64_t kMostSteps = 20'000'000;

 private:
  using Marks = std::vector<bool>;
  struct Since {
    bool reachable = false;
    bool straight = false;  // every instruction between was executed exactly once
    std::vector<At> executed;
  };

  Marks reach(const std::vector<At>& from, const std::vector<std::vector<At>>& edges, const Marks& barred);
  const Since& since(At stands);
  const std::vector<At>& until_failing(Moment moment);
  bool waits_for_failing(At at) const;
  bool spent() { return ++steps_ > kMostSteps; }

  const Program& program_;
  const At failing_;
  std::vector<Written> written_;
  std::vector<std::vector<At>> next_, before_;
  std::vector<bool> is_entry_;
  Marks barred_, none_;
  std::map<At, Since> since_;  // by where a thread stopped
  std::map<Moment, std::vector<At>> until_;
  std::map<std::pair<Slot, Moment>, bool> untouched_until_;
  std::uint64_t steps_ = 0;
};

}  // namespace cudadiag::sass
