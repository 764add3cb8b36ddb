// How an operation uses memory that it receives a pointer to.
#pragma once

#include <cstdint>

namespace cudadiag::sass {

enum class Mode : std::uint8_t {
  unknown,
  none,  // a kernel receives the address but does not access it
  read,
  write,   // may also read
  atomic,  // atomic operations do not race with each other
  // The kernel adds something to the address before the access, so it reads (or may write) a place nearby, not this
  // one.
  near_read,
  near_write,
};

constexpr bool alters(Mode mode) { return mode == Mode::write || mode == Mode::atomic; }
constexpr bool is_near(Mode mode) { return mode == Mode::near_read || mode == Mode::near_write; }

}  // namespace cudadiag::sass
