// Executes a kernel's code symbolically for threads of a launch, one box of threads at a time. Internal to lib/sass.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "sass/control_flow.h"
#include "sass/evaluator.h"
#include "sass/launch_values.h"

namespace cudadiag::sass {

// The parameter words through which an instruction may access memory.
struct MayAccess {
  bool anywhere = false;
  bool other = false;  // or at an address that comes from no parameter, such as one from memory
  std::set<std::uint32_t> words;
  std::optional<std::uint32_t> handle{};  // offset of the handle of its texture or surface
};
using MayAccesses = std::map<std::uint32_t, MayAccess>;

std::optional<Box> all_threads(const LaunchValues& launch);

// ---- the accesses of a launch to global memory, in the order of each thread, with the barriers and waits between them
//
// Only accesses that do not depend on the contents of memory are in a trace. A thread makes them whatever other threads
// do, so nothing but a barrier of the block, or an earlier wait, can order two of them.

// A thread's place among the barriers of its block.
struct BlockOrder {
  std::uint32_t barriers = 0;  // the barriers of the whole block that it has passed
  bool waited = false;         // it may have waited for threads of other blocks
  bool unclear = false;        // something else than a barrier of the whole block may order it within its block
};

struct TracedAccess {
  std::uint32_t at = 0;    // index of the instruction
  std::uint64_t base = 0;  // of the address; the form is added to it
  Form form;
  Box box;
  BlockOrder order;
  std::uint64_t stored = 0;  // for a store by a single thread: identifies the value; equal values may have two numbers
};

// Names the values of a single thread: registers with the same number contain the same value, in threads of the same
// launch. A value from memory has the number of its address.
class ValueNumbers {
 public:
  // `alike`: the two threads to be compared are in one block, so both read the same values from shared memory.
  explicit ValueNumbers(bool alike) : alike_(alike) {}

  // Notes what the instruction computes. `state` is that before the instruction; `place` is the address of a load.
  void note(const Instruction& i, Evaluator& before, const Box& thread, const BlockOrder& order,
            std::optional<std::uint64_t> place);
  // Notes that code which may or may not have run has changed the register.
  void may_change(const Instruction& i, std::uint64_t reason);
  std::uint64_t of(Evaluator& evaluator, const Operand& operand, std::uint32_t half);
  std::uint64_t of(const Condition& condition) const;

 private:
  std::uint64_t result(const Instruction& i, Evaluator& before, const Box& thread, const BlockOrder& order);

  const bool alike_;
  std::array<std::uint64_t, kRegisters> registers_{};
  std::array<std::uint64_t, 32> predicates_{};
  std::uint64_t shared_ = 0;  // of all values that the thread has stored in shared memory
  std::uint64_t stack_ = 0;
};

struct LaunchTrace {
  std::vector<TracedAccess> accesses;
  bool complete = true;  // has all accesses to global memory of the threads
  // The fewest barriers that a thread had passed when it may have waited for another block. Threads of its block that
  // have passed more barriers have waited, too.
  std::uint32_t first_wait = ~0u;
  std::optional<ValueNumbers> numbers;  // only for a single thread

  void note_wait(BlockOrder& order) {
    order.waited = true;
    first_wait = std::min(first_wait, order.barriers);
  }
  // Notes what a barrier or another instruction without a result does to the order. `runs`: nullopt if it is unknown
  // whether the threads execute it.
  void note_order(const Instruction& i, std::optional<bool> runs, BlockOrder& order);
  // Notes code that threads may have executed, any number of times if it contains a loop.
  void note_detour(const std::vector<const Instruction*>& code, bool loops, BlockOrder& order);
};

// Whether other threads may see the access only in the order of the memory model: volatile, atomic or with a scope.
bool is_strong(const Instruction& i);

// ---- the threads

struct ThreadState {
  std::array<Value, kStack> registers;
  std::array<Truth, 32> predicates;
  std::map<std::uint32_t, Value> stack;    // the known words of local memory, by address
  std::array<std::uint32_t, 16> barriers;  // where the threads that wait at each barrier continue
  std::uint32_t at = 0;                    // the next instruction
  BlockOrder order;                        // only for a trace

  ThreadState() { barriers.fill(kNone); }
  // Forgets the registers and predicates that the instruction may have written.
  void forget(const Written& written);
};

class FollowedLaunch {
 public:
  // Everything that the members refer to must outlive the FollowedLaunch.
  struct Code {
    const Program& program;
    const Detours& detours;
    const MayAccesses& accesses;
    ParameterBank bank;
  };
  static constexpr std::size_t kMostSteps = 100'000, kMostParts = 4096;
  FollowedLaunch(const Code& code, const LaunchValues& launch, std::size_t most_steps = kMostSteps,
                 std::size_t most_parts = kMostParts)
      : code_(code), launch_(launch), most_steps_(most_steps), most_parts_(most_parts) {}

  // Call only one of these three functions, and only once.
  std::vector<ParameterBytes> bytes();
  // Returns the accesses that these threads make regardless of the contents of memory.
  CertainAccesses certain(const Box& threads);
  // Follows the threads as far as possible. `to` may number the values of a single thread.
  void trace(const Box& threads, LaunchTrace& to);
  std::size_t steps() const { return steps_; }
  // After certain(): the words of known memory that were loaded as numbers of 8 bytes.
  const std::set<std::uint32_t>& loaded_numbers() const { return loaded_numbers_; }
  // After certain(): whether a thread may write to known memory that was loaded.
  bool changes_what_it_reads() const;

 private:
  struct Part {
    Box box;
    ThreadState state;
    // Not null if it is unknown which of the threads take this detour. They are followed only until they meet again.
    const Detours::Detour* within = nullptr;
  };
  enum class Next { on, ended, parted, lost };

  static constexpr std::size_t kMostDetours = 64;  // how often one detour is followed

  const Instruction& instruction(const Part& part) const { return code_.program[part.state.at]; }
  // Returns null if the instruction may access nothing through a parameter.
  const MayAccess* may_access(std::uint32_t at) const {
    const auto found = code_.accesses.find(at);
    return found == code_.accesses.end() ? nullptr : &found->second;
  }
  static Next go_to(Part& part, std::uint32_t at) { return part.state.at = at, Next::on; }
  static Next skip(Part& part) { return go_to(part, part.state.at + 1); }
  static Part take_last(std::vector<Part>& parts);
  bool follow(const Box& threads);
  bool follow(Part part);
  void follow_detours();
  Next step(Part& part, Evaluator& evaluator);
  Next jump(Part& part, Evaluator& evaluator);
  Next call(Part& part, const Evaluator& evaluator);
  Next detour(Part& part, Evaluator& evaluator);
  void compute(Part& part, Evaluator& evaluator);
  Next access(Part& part, Evaluator& evaluator);
  Next local_access(Part& part, Evaluator& evaluator);
  Next box_access(Part& part, Evaluator& evaluator);
  void add_box(const TensorMap& map, const Instruction& i, const Form& place, const Box& box);
  Next image_access(Part& part, Evaluator& evaluator);
  Next after(Part& part, const std::vector<Value>& loaded = {});
  Next part_where(Part& part, const Cut& cut);
  bool will_follow(const Part& part, const Detours::Detour& detour);
  void give_up_on(std::uint32_t at, bool open = true);
  bool is_in_shared(const Instruction& i, Evaluator& evaluator, const Box& box) const;
  void note_open(std::uint32_t at) { open_accesses_.insert(at); }
  std::vector<OpenAccess> open_accesses() const;
  void forget_bytes_of(std::uint32_t at);
  void add_access(std::uint32_t word, Mode mode, std::uint32_t width, const Form& form, const Box& box);
  using Noted = std::map<std::pair<std::uint32_t, std::optional<std::uint32_t>>, CertainAccess>;
  void note(Noted& to, std::uint32_t at, const Evaluator::Address& address, const Box& box);
  void note_known(const Part& part, const Evaluator::Address& address, bool runs);
  std::uint64_t base_of(const Evaluator::Address& address) const;
  void note_access(const Part& part, const Evaluator::Address& address, Evaluator& evaluator);
  void note_values(const Part& part, Evaluator& evaluator, bool runs);
  void note_detour(Part& part, const Detours::Detour& detour);
  struct Span {
    std::uint64_t begin = 0, end = 0;
  };
  std::optional<Span> span_of(const Evaluator::Address& address, std::uint32_t width, const Box& box) const;
  struct Loaded {
    std::vector<Value> registers;  // empty if unknown
    std::optional<Cut> cut;        // where to cut the box, so that all threads of a part load the same bytes
  };
  Loaded loaded(std::uint32_t at, const Evaluator::Address& address, const Box& box);

  const Code& code_;
  const LaunchValues& launch_;
  std::size_t most_steps_, most_parts_;
  std::vector<Part> open_;
  bool follows_detours_ = false;
  std::vector<Part> detours_;
  std::map<std::uint32_t, std::size_t> detours_from_;  // how many detours begin at an instruction
  std::size_t parts_ = 1, steps_ = 0;
  std::set<std::uint32_t> not_known_;  // some bytes used through these words are unknown
  bool none_known_ = false;
  using Use = std::pair<std::uint32_t, Mode>;  // a parameter word, and how it is used
  std::map<Use, Lattices> used_;
  std::set<Use> too_many_;  // uses with too many separate pieces
  Noted certain_, possible_;
  std::set<std::uint32_t> open_accesses_;  // instructions that use memory, and whose addresses are not all known
  std::vector<Span> loaded_, stored_;  // addresses of known memory that was loaded, and of memory that was stored to
  std::set<std::uint32_t> loaded_numbers_;
  bool stores_anywhere_ = false;
  LaunchTrace* trace_ = nullptr;
};

// Finds a race between threads of one launch (thread_races.cc).
ThreadRaces find_thread_race(const FollowedLaunch::Code& code, const LaunchValues& launch, const Box& threads);

}  // namespace cudadiag::sass
