// Addresses of the host that cannot be memory of a GPU.
#pragma once

#include <cstdint>

namespace cudadiag::causes {

// Where Linux on x86-64 puts the heap of a program, and the stack of its first thread: "heap", "stack"; null: elsewhere,
// where the GPU may have memory too.
inline const char* host_memory_at(std::uint64_t address) {
  const std::uint64_t top = address >> 40;
  if (top == 0x55 || top == 0x56) return "heap";
  return address >= 0x7ffc'0000'0000 && address < 0x8000'0000'0000 ? "stack" : nullptr;
}

}  // namespace cudadiag::causes
