// Unwinds the native stack of the calling thread with libgcc's unwinder, which is linked in statically. The unwinder
// finds a frame's tables through _dl_find_object. The recorder has its own definition of this function (unwinder.cc).
// This definition works with any glibc, and takes no lock of the dynamic loader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record/stacks/modules.h"

namespace cudadiag::record {

struct UnwoundFrame {
  std::uint64_t return_address;
  std::uint64_t slot;  // the stack address where it is stored
};

// Fills `frames` with the return addresses of the calling thread, innermost first. Skips addresses that are stored
// below `stack_pointer`. Returns the number of frames. Stops before an address in [stop_begin, stop_end).
std::size_t unwind(std::uintptr_t stack_pointer, std::uintptr_t stop_begin, std::uintptr_t stop_end,
                   std::span<UnwoundFrame> frames, bool& truncated);

struct StackRange {
  std::uintptr_t low, high;  // as mapped; zero if none

  bool has(std::uintptr_t address) const { return address >= low && address < high; }
};

// The stacks on which a thread has run: its own, and those of coroutines. A thread may run hundreds of coroutines. The
// bounds of a stack are read from the memory map when the stack is first seen. Later, the stack may have been freed,
// and a different one may be at its address.
struct KnownStacks {
  static constexpr std::size_t kSets = 128;
  static constexpr std::size_t kWays = 4;

  StackRange* set_of(std::uintptr_t stack_pointer) {
    constexpr unsigned kPageBits = 12, kSetBits = 7;
    static_assert(kSets == 1 << kSetBits);
    const std::uint64_t page = stack_pointer >> kPageBits;
    return &ranges[(page * 0x9e3779b97f4a7c15 >> (64 - kSetBits)) * kWays];
  }
  // The page of the stack pointer determines the set. In each set, the newest stack comes first.
  std::array<StackRange, kSets * kWays> ranges;
};

// Finds the mapped stack that contains this address. Returns false if there is none.
bool find_stack(std::uintptr_t inside, StackRange& stack);
// Returns true if the stack exists for as long as the calling thread. This holds for a stack that contains the kernel's
// random bytes (the main thread's) or the thread's own data. In the second case, the part beyond the data is removed
// from `stack`.
bool is_own_stack(StackRange& stack, std::uintptr_t stack_pointer);

}  // namespace cudadiag::record
