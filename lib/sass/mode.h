// Kinds of memory and of memory accesses, and how an operation uses memory to which it receives a pointer.
#pragma once

#include <cstdint>

namespace cudadiag::sass {

enum class Mode : std::uint8_t {
  unknown,
  none,  // a kernel receives the address but does not access it
  read,
  write,   // may also read
  atomic,  // atomic operations do not race with each other
  // The kernel reads (near_read) or may write (near_write) at some offset from the address.
  near_read,
  near_write,
};

constexpr bool alters(Mode mode) { return mode == Mode::write || mode == Mode::atomic; }
constexpr bool is_near(Mode mode) { return mode == Mode::near_read || mode == Mode::near_write; }

// Kinds of memory access, and kinds of memory.
enum class AccessKind : std::uint8_t { load, store, atomic, copy };
enum class Space : std::uint8_t { global, shared, local, generic };

// Returns the alignment that an access of `bytes` bytes needs. Pass 0 for a bulk copy, whose size is in a register
// (CUDA C++ Programming Guide, asynchronous data copies).
constexpr std::uint32_t alignment_of(std::uint32_t bytes) { return bytes == 0 ? 16 : bytes; }

}  // namespace cudadiag::sass
