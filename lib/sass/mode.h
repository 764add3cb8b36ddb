// How an operation uses memory to which it receives a pointer.
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

}  // namespace cudadiag::sass
