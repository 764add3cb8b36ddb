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

// Two cache lines, which processors fetch together, if it has less than thirty frames.
struct alignas(128) StackShape {
  static constexpr std::size_t kFrames = 48;
  std::uint64_t key;     // 0: free
  std::uint32_t frames;  // at least one
  std::array<std::uint32_t, kFrames>
      offsets;  // from the stack pointer, in bytes, rising; after the last: the last again

  // Where the outermost return address ends, from the stack pointer.
  std::size_t bytes() const { return std::size_t{offsets[frames - 1]} + sizeof(std::uint64_t); }
};

struct StackShapes {
  static constexpr std::size_t kSets = 256;
  static constexpr std::size_t kWays = 4;
  std::array<StackShape, kSets * kWays> shapes;  // set by set
  std::array<std::uint32_t, kSets> misses;       // of a set: unwindings in a row, without a stack that was known
};

}  // namespace cudadiag::record
