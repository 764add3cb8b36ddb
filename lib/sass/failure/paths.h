// Which instructions may have run before and after the failing one. Internal to lib/sass.
//
// A thread failed at one instruction and stopped at another. This class answers two questions: may anything have
// written to a register between an earlier instruction and now? And which instruction may have written to it before
// that? For an instruction in a loop, `latest` means its latest execution before the failure. If it may have run again
// since the execution in question, `latest` is false, and the answer must hold for every execution.
//
// The hardware stops some time after the failure. No thread, however, gets past an instruction that needs the value
// that the failing one was to load, so paths through such an instruction do not count.
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
  // Returns whether nothing wrote to the slot from `moment`, whose instruction counts too, until the thread stopped.
  bool is_untouched(Slot slot, Moment moment, At stands);
  // Returns whether nothing writes to the slot from `moment` until just before the failing instruction.
  bool is_untouched_before(Slot slot, Moment moment);
  // Returns the last execution of `by` before `moment`.
  Moment last_before(At by, Moment moment);
  // Returns the only instruction that wrote to the slot at or after the failing one, if it ran exactly once.
  std::optional<At> written_once_since(Slot slot, At stands);
  bool is_repeated(At at);

  enum class Guard { holds, fails, unknown };
  // Returns the one instruction that was the last to write to the slot before `at`. `guard` evaluates the conditions of
  // instructions.
  std::optional<At> definition(Slot slot, At at, const std::function<Guard(At)>& guard);
  // Returns all instructions that may have been the last to write to the slot before `at`; nullopt if code outside this
  // program may have been.
  std::optional<std::vector<At>> definitions(Slot slot, At at);

  // Counted over all searches together.
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
