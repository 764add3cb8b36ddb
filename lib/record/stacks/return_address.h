// Reads a return address from the stack.
#pragma once

#include <cstdint>

namespace cudadiag::record {

// Returns the address without its signature. 64-bit Arm can sign a return address in its upper bits. "hint 7" (xpaclri)
// clears these bits in x30, and does nothing on processors without signatures.
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
