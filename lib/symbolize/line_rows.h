// The rows of a line program, sequence by sequence. libdw sorts all rows of a unit by their address, and those of
// functions that the linker dropped, which begin at 0, come to lie among those of the code that is there. Internal to
// the room.
#pragma once

#include <cstdint>
#include <optional>

#include "gpucore/bytes.h"

namespace cudadiag::symbolize {

struct LineRow {
  std::uint64_t file = 0;  // in the unit's table of files
  std::uint32_t line = 0;
};

// The row for `address` in the line program at the beginning of `lines` (DWARF 2 to 5), whatever begins at 0 left out.
// Nothing where none covers it, and where the program cannot be right.
std::optional<LineRow> row_at(gpucore::Bytes lines, std::uint64_t address);

}  // namespace cudadiag::symbolize
