// The instructions that may run before and after the failing one. Internal to the room.
//
// A thread failed at one instruction and stopped at another. What is asked is whether anything may have written a
// register between an earlier instruction and now, and which instruction may have written it before that. Of an
// instruction in a loop it is its latest execution before the failure that is meant; or, where it may have been executed
// again since the one that matters, any: then the answer must hold for all of them.
//
// The hardware continues for some time before it stops, but no thread passes an instruction that needs what the failing
// one was to load: a path that would is none.
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
  using At = std::uint32_t;  // an instruction's index

  struct Moment {
    At at = 0;
    bool latest = true;
    auto operator<=>(const Moment&) const = default;
  };

  // `program` must outlive this.
  Paths(const Program& program, At failing);

  const Program& program() const { return program_; }
  At failing() const { return failing_; }
  const Written& written(At at) const { return written_[at]; }

  // Whether a thread can be there at all.
  bool can_stand(At stands);
  // Whether nothing has written the slot since `moment`, its own instruction included, until the thread stopped.
  bool is_untouched(Slot slot, Moment moment, At stands);
  // Whether nothing writes it from there to the failing instruction, which is not included.
  bool is_untouched_before(Slot slot, Moment moment);
  // The execution of `by` that came last before a moment.
  Moment last_before(At by, Moment moment);
  // The one instruction that has written it after the failing one, or is that, and did so exactly once.
  std::optional<At> written_once_since(Slot slot, At stands);
  bool is_repeated(At at);

  enum class Guard { holds, fails, unknown };
  // The one instruction that wrote the slot last before `at`. `guard` says of those with a condition whether it held.
  std::optional<At> definition(Slot slot, At at, const std::function<Guard(At)>& guard);
  // All that may have; nothing: also one that is not here.
  std::optional<std::vector<At>> definitions(Slot slot, At at);

  // Steps beyond these are not gone.
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
