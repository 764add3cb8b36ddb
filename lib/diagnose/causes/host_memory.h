// Recognises host addresses that cannot be GPU memory.
#pragma once

#include <cstdint>

namespace cudadiag::causes {

// Returns "heap" or "stack" if Linux on x86-64 puts a program's heap or its first thread's stack at `address`. Returns
// null for any other address, because the GPU may have memory there too.
inline const char* host_memory_at(std::uint64_t address) {
  const std::uint64_t top = address >> 40;
  if (top == 0x55 || top == 0x56) return "heap";
  return address >= 0x7ffc'0000'0000 && address < 0x8000'0000'0000 ? "stack" : nullptr;
}

}  // namespace cudadiag::causes
