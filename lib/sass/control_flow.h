// Parses a kernel's code from nvdisasm's text, and finds which instructions may follow which. Internal to lib/sass.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
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

}  // namespace cudadiag::sass
