// Lists the accesses of a launch to global memory, in the order of each thread, with the barriers and the waits between
// them. FollowedLaunch fills the list. Internal to lib/sass.
//
// Only accesses that do not depend on the contents of memory are in a trace. A thread makes them whatever other threads
// do, so nothing but a barrier of the block, or an earlier wait, can order two of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sass/evaluator.h"

namespace cudadiag::sass {

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

}  // namespace cudadiag::sass
