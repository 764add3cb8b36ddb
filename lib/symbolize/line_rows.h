// Reads the rows of a line program, sequence by sequence. libdw instead sorts all rows of a unit by address. Functions
// that the linker dropped begin at 0, and their rows then mix with those of real code. Internal to lib/symbolize.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "evidence/bytes.h"

namespace cudadiag::symbolize {

struct LineRow {
  std::uint64_t file = 0;  // index in the unit's table of files
  std::uint32_t line = 0;
};

// Returns the rows for `address` in the line program at the beginning of `lines` (DWARF 2 to 5), except in sequences
// that begin at 0. Each sequence that covers the address has one row. Several sequences cover it if the linker folded
// functions with identical code.
std::vector<LineRow> rows_at(evidence::Bytes lines, std::uint64_t address);

}  // namespace cudadiag::symbolize
