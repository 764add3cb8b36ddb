// The stack that a thread runs on: its own, or that of a coroutine, of which hundreds may come and go. Their bounds are
// from the memory map when they were first met: they may have ended since, and others may be there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cudadiag::record {

struct ThreadState;

struct StackRange {
  std::uintptr_t low, high;  // as mapped; zero: none

  bool has(std::uintptr_t address) const { return address >= low && address < high; }
};

struct KnownStacks {
  static constexpr std::size_t kSets = 128;
  static constexpr std::size_t kWays = 4;

  StackRange* set_of(std::uintptr_t stack_pointer) {
    constexpr unsigned kPageBits = 12, kSetBits = 7;
    static_assert(kSets == 1 << kSetBits);
    const std::uint64_t page = stack_pointer >> kPageBits;
    return &ranges[(page * 0x9e3779b97f4a7c15 >> (64 - kSetBits)) * kWays];
  }
  // Set by set, by the page on which the thread was; the newest first.
  std::array<StackRange, kSets * kWays> ranges;
};

// Makes the stack that this lies on the thread's newest. False: it is none that is mapped.
bool change_stack(ThreadState& thread, std::uintptr_t stack_pointer);
// It is not where it was.
void forget_stack(ThreadState& thread, std::uintptr_t stack_pointer);

}  // namespace cudadiag::record
