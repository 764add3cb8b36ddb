// The positions of return addresses on a thread's stack, learnt from one unwinding and checked at each call.
//
// Unwinding takes microseconds, and a program makes CUDA calls from few places. The first unwinding at some depth
// therefore keeps the positions of all return addresses relative to the stack pointer (a shape). Later calls at the
// same depth read the words at these positions. The hash of these words identifies the stack that has exactly these
// return addresses.
//
// Why this is correct: the innermost position is right, because the code between the program and the recorder has
// frames of fixed size. A correct return address determines the size of its caller's frame, and thus the next position.
// A caller that uses alloca could have a frame of another size. However, a wrong result would then need stale words
// that equal the return addresses of another known stack at every position.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cudadiag::record {

// A shape with fewer than thirty frames takes two cache lines, which processors fetch together.
struct alignas(128) StackShape {
  static constexpr std::size_t kFrames = 48;
  std::uint64_t key;     // 0 if free
  std::uint32_t frames;  // at least one
  std::uint32_t bytes;   // from the stack pointer to the end of the outermost return address
  // bytes from the stack pointer, ascending; unused entries repeat the last offset
  std::array<std::uint32_t, kFrames> offsets;
};

struct StackShapes {
  static constexpr std::size_t kSets = 256;
  static constexpr std::size_t kWays = 4;
  std::array<StackShape, kSets * kWays> shapes;  // one set after another
  std::array<std::uint32_t, kSets> misses;       // per set: how many unwindings in a row found no known stack
};

// Returns the return address at this place of the stack, without its signature. 64-bit Arm can sign a return address in
// its upper bits. "hint 7" (xpaclri) clears these bits in x30, and does nothing on processors without signatures.
inline std::uint64_t return_address_at(std::uintptr_t slot) {
  const std::uint64_t word = *reinterpret_cast<const std::uint64_t*>(slot);
#if defined(__aarch64__)
  register std::uint64_t link asm("x30") = word;
  asm("hint #7" : "+r"(link));
  return link;
#else
  return word;
#endif
}

}  // namespace cudadiag::record
