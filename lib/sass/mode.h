// How an operation uses the memory that it is pointed to.
#pragma once

#include <cstdint>

namespace cudadiag::sass {

enum class Mode : std::uint8_t {
  unknown,
  none,  // a kernel is given the address and does not touch it
  read,
  write,   // or both
  atomic,  // two of these do not disturb each other
  // A kernel adds a number of its own to the address before it uses memory: it reads, or may write, some other place.
  near_read,
  near_write,
};

constexpr bool alters(Mode mode) { return mode == Mode::write || mode == Mode::atomic; }
constexpr bool is_near(Mode mode) { return mode == Mode::near_read || mode == Mode::near_write; }

}  // namespace cudadiag::sass
