// The memory that an instruction uses, by its operands. Internal to the room.
#pragma once

#include <cstdint>
#include <string_view>

#include "sass/code/lines.h"

namespace cudadiag::sass {

// Bytes that a thread reads or writes; 0: a register says it.
std::uint32_t memory_bytes_of(const Instruction& i);
// The place that names the memory in question; of a copy, that of global memory. Empty: there is none.
std::string_view memory_place_of(const Instruction& i);

}  // namespace cudadiag::sass
