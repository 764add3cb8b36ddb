// The memory that an instruction uses, according to its operands. Internal to lib/sass.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sass/access_kind.h"
#include "sass/code/lines.h"

namespace cudadiag::sass {

struct MemoryForm {
  AccessKind kind = AccessKind::load;
  Space space = Space::global;
};
// Returns nullopt if the instruction has no access to memory, or one that is not understood.
std::optional<MemoryForm> memory_form_of(const Instruction& i);
// Returns the bytes that a thread reads or writes; 0 if a register contains the size.
std::uint32_t memory_bytes_of(const Instruction& i);
// Returns the part of the operand that names the memory; for a copy, the global memory. Empty if there is none.
std::string_view memory_place_of(const Instruction& i);

}  // namespace cudadiag::sass
