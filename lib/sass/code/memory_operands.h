// The memory that an instruction uses, according to its operands. Internal to lib/sass.
#pragma once

#include <cstdint>
#include <string_view>

#include "sass/code/lines.h"

namespace cudadiag::sass {

// Returns the bytes that a thread reads or writes; 0 if a register contains the size.
std::uint32_t memory_bytes_of(const Instruction& i);
// Returns the operand's text that names the memory; for a copy, the global memory. Empty if there is none.
std::string_view memory_place_of(const Instruction& i);

}  // namespace cudadiag::sass
