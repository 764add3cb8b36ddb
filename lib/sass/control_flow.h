// Parses a kernel's code from nvdisasm's text, and finds which instructions may follow which, and which may have run
// before and after a failing one. Internal to lib/sass.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sass/instruction.h"

namespace cudadiag::sass {

// An instruction is identified by its index.
class Program {
 public:
  // The program is empty if the text is not code, or is too long. The text must outlive this object.
  explicit Program(std::string_view text);

  bool empty() const { return code_.empty(); }
  std::uint64_t unknown_opcodes() const;
  // Returns whether a function may be called while it is active, so that nothing limits the size of the stack.
  bool is_recursive() const { return is_recursive_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(code_.size()); }
  const Instruction& operator[](std::uint32_t at) const { return code_[at]; }
  const std::vector<std::uint32_t>& next(std::uint32_t at) const { return flow_[at].next; }
  // Returns whether control always passes from this instruction to the next one, and reaches the next one in no other
  // way.
  bool falls_through(std::uint32_t at) const;
  // A possible target of a return: the instruction after a call. Registers that are not in `altered` still have the
  // values that they had at the call. The call also has a direct edge to this target.
  struct Return {
    std::uint32_t to = 0;
    const std::vector<std::uint32_t>* altered = nullptr;
  };
  const std::vector<Return>& returns(std::uint32_t at) const;

 private:
  struct Flow {
    std::vector<std::uint32_t> next;
    bool begins_block = false;
  };

  // Possible targets that several instructions share.
  struct Joints {
    std::vector<std::uint32_t> after_calls, after_ends;
    std::map<std::uint32_t, std::set<std::uint32_t>> meeting_points;  // keyed by barrier register
  };

  void set_targets(const std::unordered_map<std::uint32_t, std::uint32_t>& by_address);
  // Returns false if the code is too large.
  bool connect();
  Joints joints() const;
  void connect_one(std::uint32_t at, const Joints& joints);
  void connect_returns(const Joints& joints);
  bool is_small() const;
  // Returns the instructions that can be reached from `begin`. Into::calls enters called functions, and Into::none
  // steps over them.
  enum class Into { calls, none };
  std::vector<std::uint32_t> reach(std::uint32_t begin, Into into);
  std::vector<std::uint32_t> altered_from(std::uint32_t begin);

  std::vector<Instruction> code_;
  std::vector<Flow> flow_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> altered_;  // registers that a function alters, keyed by its first
                                                                 // instruction
  std::unordered_map<std::uint32_t, std::vector<Return>> returns_;
  bool is_recursive_ = false;
  std::size_t work_ = 0;  // number of steps that connect() has taken
};

// Finds the code that threads may execute between a possible divergence and the place where they meet again. Internal
// to lib/sass.
class Detours {
 public:
  // `program` must outlive this object.
  explicit Detours(const Program& program);

  struct Detour {
    bool known = false;               // false if the code calls functions outside this program, or jumps through a
                                      // table
    std::vector<std::uint32_t> code;  // instructions that some threads may execute, any number of times
    std::uint32_t meets = kNone;      // where all threads that have not exited meet; kNone if they never do
  };
  // Returns the detour that begins at an instruction where threads may diverge. Returns null if all threads continue at
  // the same instruction.
  const Detour* from(std::uint32_t at) const {
    const auto known = detours_.find(at);
    return known == detours_.end() ? nullptr : &known->second;
  }

 private:
  std::vector<std::uint32_t> next_here(std::uint32_t at) const;
  std::vector<std::uint32_t> meeting_points() const;
  Detour found(std::uint32_t at, std::uint32_t meets) const;

  const Program& program_;
  std::map<std::uint32_t, Detour> detours_;  // keyed by instructions with several successors
};

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

}  // namespace cudadiag::sass
