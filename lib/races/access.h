// One operation's use of memory: which bytes, how, by whom.
#pragma once

#include <cstdint>

#include "races/clock.h"
#include "sass/mode.h"

namespace cudadiag::races {

// A stream's number among all streams that a process ever had: handles are used again, these are not.
using StreamNumber = std::uint32_t;

using sass::alters;
using sass::is_near;
using sass::Mode;

enum class What : std::uint8_t { kernel, copy, memset, allocation, free };

struct Access {
  Moment at = 0;
  std::uint64_t begin = 0;
  std::uint64_t width = 1;  // bytes of a row
  std::uint64_t pitch = 0;  // from row to row
  std::uint32_t rows = 1;
  StreamNumber stream = 0;
  Mode mode = Mode::unknown;
  What what = What::kernel;
  bool exact = false;       // false: this is where a kernel was pointed to, and how far it goes from there is not known
  std::uint8_t thread = 0;  // that issued it, and when
  // The kernel was given an address below too, in the same memory, of which this may be the end; or it was given this
  // one on another stream as well, so that each launch may use its own part.
  bool may_end = false, may_be_base = false;
  std::uint64_t ticks = 0;
  // Whose it is. A graph's node: 1 + its index.
  std::uint32_t site = 0, function = 0, parameter = 0, node = 0;
  std::uint32_t words = 0;   // which of its kernel's parameters held addresses: the feed's number for it; 0: not known
  std::uint32_t hidden = 0;  // earlier ones of its stream that made room here

  std::uint64_t end() const { return begin + pitch * (rows - 1) + width; }
};

// At one of the two places of a copy, or that of a memset; 0 rows or bytes: how far it goes is not known. Rows that
// overlap are as good as one piece.
struct Extent {
  std::uint64_t pitch = 0, bytes = 0, width = 0;  // bytes: of all rows; 0: not known
  std::uint32_t rows = 0;
};
Access with_place(Access access, std::uint64_t address, const Extent& extent, Mode mode);

// Whether they have a byte in common: rows are compared one by one, columns of one buffer do not meet.
bool touches(const Access& a, const Access& b);

}  // namespace cudadiag::races
