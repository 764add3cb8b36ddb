// What an instruction does to memory, and to which.
#pragma once

#include <cstdint>

namespace cudadiag::sass {

enum class AccessKind : std::uint8_t { load, store, atomic, copy };
enum class Space : std::uint8_t { global, shared, local, generic };

// What the address of an access must be a multiple of, in bytes. `bytes` is the size of the access; it is 0 for a bulk
// copy, whose size the code does not show (CUDA C++ Programming Guide, asynchronous data copies).
constexpr std::uint32_t alignment_of(std::uint32_t bytes) { return bytes == 0 ? 16 : bytes; }

}  // namespace cudadiag::sass
