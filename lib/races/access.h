// One use of memory: which bytes, how, and by which operation.
#pragma once

#include <cstdint>

#include "races/clock.h"
#include "sass/mode.h"

namespace cudadiag::races {

// Numbers every stream that the process has ever had. Unlike handles, which the driver reuses, these numbers are
// unique.
using StreamNumber = std::uint32_t;

using sass::alters;
using sass::is_near;
using sass::Mode;

// Arrays have no addresses. Each gets a range of its own, above all addresses of memory.
inline constexpr std::uint64_t kArrays = std::uint64_t{1} << 62, kArrayRoom = std::uint64_t{1} << 40;

enum class What : std::uint8_t { kernel, copy, memset, allocation, free };

// When the access can happen.
enum class When : std::uint8_t {
  in_stream,    // between the operations before and after its own one in the stream
  during_call,  // before the call returns, perhaps before earlier work of the stream
  any_time,     // before later work of the stream, perhaps before earlier work
};

struct Access {
  Moment at = 0;
  std::uint64_t begin = 0;
  std::uint64_t width = 1;  // bytes in a row
  std::uint64_t pitch = 0;  // bytes from one row to the next
  std::uint32_t rows = 1;
  StreamNumber stream = 0;
  Mode mode = Mode::unknown;
  What what = What::kernel;
  When when = When::in_stream;
  bool exact = false;       // false: `begin` is an address that a kernel received; the kernel's reach is unknown
  bool somewhere = false;   // not exact: it uses an unknown part of these bytes, not necessarily the first one
  std::uint8_t thread = 0;  // that issued the operation
  // may_end: the kernel also received a lower address in the same memory, so this one may be an end pointer.
  // may_be_base: the kernel also received this address on another stream, so each launch may use its own part.
  bool may_end = false, may_be_base = false;
  std::uint64_t ticks = 0;
  // The call site, kernel, parameter and graph node that use the memory. For a node, `node` is 1 + its index.
  std::uint32_t site = 0, function = 0, parameter = 0, node = 0;
  std::uint32_t words = 0;   // Feed's number for the kernel's parameter words that held addresses; 0 if unknown
  std::uint64_t array = 0;   // CUarray; `begin` is then among the addresses that we give to arrays
  std::uint32_t hidden = 0;  // number of earlier accesses of its stream that were dropped to make room for it

  std::uint64_t end() const { return begin + pitch * (rows - 1) + width; }
};

// The bytes on one side of a copy, or those of a memset. If rows or bytes are 0, we do not know how far it reaches.
// Overlapping rows are merged.
struct Extent {
  std::uint64_t pitch = 0, bytes = 0, width = 0;  // bytes: of all rows together; 0 if unknown
  std::uint32_t rows = 0;
};
Access with_place(Access access, std::uint64_t address, const Extent& extent, Mode mode);

// Returns whether the accesses share a byte. Rows are compared one by one, so different columns of one buffer do not
// overlap. An access somewhere in a range shares a byte only with exact accesses that cover the range.
bool touches(const Access& a, const Access& b);

}  // namespace cudadiag::races
