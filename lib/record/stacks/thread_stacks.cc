#include "record/stacks/thread_stacks.h"

#include <pthread.h>
#include <sys/auxv.h>

#include <algorithm>

#include "record/operations/threads.h"
#include "record/stacks/memory_map.h"

namespace cudadiag::record {

namespace {

// Extends the range to where the main thread's stack may grow. The kernel places no new mappings there. It places
// mappings from the top down, so the mappings just below have existed since the program started.
StackRange with_room_to_grow(StackRange stack, std::uintptr_t end_below) {
  constexpr std::uintptr_t kGap = 1 << 20;     // the kernel normally leaves this gap below
  constexpr std::uintptr_t kMost = 256 << 20;  // limit for the size of the stack
  const std::uintptr_t lowest = std::max(end_below + kGap, stack.high - std::min(stack.high, kMost));
  return {std::min(stack.low, lowest), stack.high};
}

bool find_stack(std::uintptr_t inside, StackRange& stack) {
  MemoryMap map;
  MemoryRange range;
  for (std::uintptr_t end_below = 0; map.next(range); end_below = range.end) {
    if (inside < range.begin || inside >= range.end) continue;
    stack = {range.begin, range.end};
    if (stack.has(getauxval(AT_RANDOM))) stack = with_room_to_grow(stack, end_below);
    return true;
  }
  return false;
}

// Returns true if the stack exists for as long as the calling thread. This holds for a stack that contains the kernel's
// random bytes (the main thread's) or the thread's own data. In the second case, the part beyond the data is removed
// from `stack`.
bool is_own(StackRange& stack, std::uintptr_t stack_pointer) {
  if (stack.has(getauxval(AT_RANDOM))) return true;
  const auto data = reinterpret_cast<std::uintptr_t>(reinterpret_cast<void*>(pthread_self()));
  if (!stack.has(data) || stack_pointer >= data) return false;
  stack.high = data;
  return true;
}

}  // namespace

bool change_stack(ThreadState& thread, std::uintptr_t stack_pointer) {
  const auto is_on = [&](const StackRange& stack) { return stack.has(stack_pointer); };
  const auto change = [&](const StackRange& stack, bool own) {
    thread.stack = stack;
    thread.on_own_stack = own;
    return true;
  };
  if (is_on(thread.own_stack)) return change(thread.own_stack, true);
  StackRange* set = thread.known_stacks.set_of(stack_pointer);
  StackRange* end = set + KnownStacks::kWays;
  if (const StackRange* known = std::find_if(set, end, is_on); known != end) return change(*known, false);
  StackRange found;
  if (!find_stack(stack_pointer, found)) return false;
  if (is_own(found, stack_pointer)) return change(thread.own_stack = found, true);
  std::move_backward(set, end - 1, end);
  return change(*set = found, false);
}

void forget_stack(ThreadState& thread, std::uintptr_t stack_pointer) {
  StackRange* set = thread.known_stacks.set_of(stack_pointer);
  std::replace_if(
      set, set + KnownStacks::kWays, [&](const StackRange& stack) { return stack.has(stack_pointer); }, StackRange{});
  thread.stack = thread.own_stack = {};
}

}  // namespace cudadiag::record
