// The mark by which the launcher recognises libraries of its own version. The recorder and the preload library keep it
// in a section of its own, which strip does not remove.
//
//   0                        28       32
//   +------------------------+--------+
//   | version, zero-padded   | format |   the version of cudadiag, and of the session's format
//   +------------------------+--------+
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/area.h"

namespace cudadiag::wire {

#define CUDADIAG_MARK_SECTION ".cudadiag"

struct LibraryMark {
  char version[28] = {};
  std::uint32_t format = 0;
};
static_assert(sizeof(LibraryMark) == 32);

constexpr LibraryMark library_mark(std::string_view version) {
  LibraryMark mark;
  version.copy(mark.version, sizeof mark.version - 1);
  mark.format = area::kFormatVersion;
  return mark;
}

}  // namespace cudadiag::wire
