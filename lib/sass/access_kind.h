// Kinds of memory access, and kinds of memory.
#pragma once

#include <cstdint>

namespace cudadiag::sass {

enum class AccessKind : std::uint8_t { load, store, atomic, copy };
enum class Space : std::uint8_t { global, shared, local, generic };

// Returns the alignment that an access of `bytes` bytes needs. Pass 0 for a bulk copy, whose size is in a register
// (CUDA C++ Programming Guide, asynchronous data copies).
constexpr std::uint32_t alignment_of(std::uint32_t bytes) { return bytes == 0 ? 16 : bytes; }

}  // namespace cudadiag::sass
