// One use of memory: the bytes, the kind of use, and the operation that uses them.
#pragma once

#include <cstdint>

#include "sass/kernel_accesses.h"

namespace cudadiag::races {

// The position of an operation in the order in which its process issues operations. 0 is before all operations.
using Moment = std::uint64_t;

// A unique number for each stream that the process ever had. Handles are not unique, because the driver reuses them.
using StreamNumber = std::uint32_t;

using sass::alters;
using sass::is_near;
using sass::Mode;
constexpr bool may_alter(Mode mode) { return mode != Mode::read && mode != Mode::none && mode != Mode::near_read; }

// CUDA arrays have no addresses. Each array gets its own range above all addresses of memory.
inline constexpr std::uint64_t kArrays = std::uint64_t{1} << 62, kArrayRoom = std::uint64_t{1} << 40;

enum class What : std::uint8_t { kernel, copy, memset, allocation, free };

// When the access can happen.
enum class When : std::uint8_t {
  in_stream,    // in stream order
  during_call,  // before the call returns, perhaps before earlier work on the stream
  any_time,     // before later work on the stream, perhaps before earlier work
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
  bool exact = false;       // false if `begin` is an address that a kernel received, and the used bytes are unknown
  bool somewhere = false;   // if not exact: uses an unknown part of these bytes, not necessarily the first one
  std::uint8_t thread = 0;  // the thread that issued the operation
  // may_end: the kernel also received a lower address in the same memory, so this address may be an end pointer.
  // may_be_base: launches on several streams received this address, so each launch may use its own part of the memory.
  bool may_end = false, may_be_base = false;
  std::uint64_t ticks = 0;
  // The call site, kernel, parameter and graph node that use the memory. For a node, `node` is 1 + its index.
  std::uint32_t site = 0, function = 0, parameter = 0, node = 0;
  std::uint32_t words = 0;   // index of the launch's parameter words in Detector; 0 if unknown
  std::uint64_t array = 0;   // CUarray, or 0; for an array, `begin` is in its range above kArrays
  std::uint32_t hidden = 0;  // number of earlier accesses of its stream that were dropped to make room for it

  std::uint64_t end() const { return begin + pitch * (rows - 1) + width; }
};

// The bytes on one side of a copy, or those of a memset. If `rows` or `bytes` is 0, the extent is unknown.
struct Extent {
  std::uint64_t pitch = 0, bytes = 0, width = 0;  // `bytes` is the total of all rows; 0 if unknown
  std::uint32_t rows = 0;
};
Access with_place(Access access, std::uint64_t address, const Extent& extent, Mode mode);

// Returns whether the accesses share a byte. Rows are compared one by one, so different columns of one buffer do not
// overlap. An access with `somewhere` set uses an unknown part of its bytes. It overlaps only exact accesses that cover
// all of these bytes.
bool touches(const Access& a, const Access& b);

}  // namespace cudadiag::races
