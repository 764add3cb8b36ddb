// Where on a thread's stack the return addresses lie, learnt from one unwinding and checked at every later call.
//
// Unwinding costs microseconds, and a program calls from few places. So the first unwinding at some depth keeps
// the positions of all return addresses relative to the stack pointer (a shape). Later calls at the same depth
// read these words and look up the stack that has exactly them, by their hash. That is sound frame by frame: the
// innermost position is right because the code between the program and the recorder has fixed frames; and a return
// address that is right fixes the size of its caller's frame, hence the next position. (A caller with alloca could
// break that; then a stale word would have to equal a real return address of another known stack, at every position.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cudadiag::record {

// Two lines, which processors fetch together.
struct alignas(128) StackShape {
  static constexpr std::size_t kFrames = 48;
  static constexpr std::size_t kWord = 8;      // bytes
  std::uint64_t key;                           // 0: free
  std::uint16_t frames;                        // at least one
  std::array<std::uint16_t, kFrames> offsets;  // from the stack pointer, in words, rising; behind the last: the last

  // Where the outermost return address ends, from the stack pointer.
  std::size_t bytes() const { return (offsets[frames - 1] + std::size_t{1}) * kWord; }
};

struct StackShapes {
  static constexpr std::size_t kSets = 256;
  static constexpr std::size_t kWays = 4;
  std::array<StackShape, kSets * kWays> shapes;  // set by set
  std::array<std::uint32_t, kSets> misses;       // of a set: unwindings in a row, without a stack that was known
};

// A thread's stack as mapped; zero until its first call.
struct StackRange {
  std::uintptr_t low, high;
};

}  // namespace cudadiag::record
