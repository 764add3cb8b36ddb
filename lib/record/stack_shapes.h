// Where on a thread's stack the return addresses lie, learnt from one unwinding and checked at every later call.
//
// Unwinding costs microseconds, and a program calls from few places. So the first unwinding at some depth keeps
// the positions of all return addresses relative to the stack pointer (a shape). Later calls at the same depth
// read these words and look up the stack that has exactly them. That is sound frame by frame: the innermost
// position is right because the code between the program and the recorder has fixed frames; and a return address
// that is right fixes the size of its caller's frame, hence the next position. (A caller with alloca could break
// that; then a stale word would have to equal a real return address of another known stack, at every position.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cudadiag::record {

struct StackShape {
  static constexpr std::size_t kFrames = 48;
  std::uint64_t key;  // 0: free
  std::uint16_t frames;
  std::uint32_t stack;                         // intern id of the stack that was found here last
  std::array<std::uint32_t, kFrames> offsets;  // from the stack pointer, in bytes, rising
  std::array<std::uint64_t, kFrames> words;    // and its return addresses
};

struct StackShapes {
  static constexpr std::size_t kSets = 256;
  static constexpr std::size_t kWays = 4;
  struct Set {
    std::array<StackShape, kWays> shapes;
    std::uint32_t misses;  // unwindings in a row, without a stack that was known
  };
  std::array<Set, kSets> sets;
  // The thread's stack as mapped; zero until the first call.
  std::uintptr_t low, high;
};

}  // namespace cudadiag::record
