// A return address as it lies on the stack.
#pragma once

#include <cstdint>

namespace cudadiag::record {

// The address without its signature. 64-bit Arm can sign it in the bits above those of an address; "hint 7" (xpaclri)
// clears them in x30, and does nothing on processors that sign nothing.
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
