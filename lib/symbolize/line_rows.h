// The rows of a line program, sequence by sequence. libdw sorts all rows of a unit by their address, and those of
// functions that the linker dropped, which begin at 0, come to lie among those of the code that is there. Internal to
// the room.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "evidence/bytes.h"

namespace cudadiag::symbolize {

struct LineRow {
  std::uint64_t file = 0;  // in the unit's table of files
  std::uint32_t line = 0;
};

// The rows for `address` in the line program at the beginning of `lines` (DWARF 2 to 5), whatever begins at 0 left out:
// of each sequence that covers it, of which there are several where the linker folded functions of identical code.
// Empty if the program cannot be right.
std::vector<LineRow> rows_at(evidence::Bytes lines, std::uint64_t address);

}  // namespace cudadiag::symbolize
