// Which memory an instruction uses, according to its operands. Internal to lib/sass.
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
// Returns nullopt if the instruction does not access memory, or if we do not understand its access.
std::optional<MemoryForm> memory_form_of(const Instruction& i);
// Returns how many bytes a thread reads or writes; 0 if a register contains the size.
std::uint32_t memory_bytes_of(const Instruction& i);
// Returns the part of the operand that gives the address; for a copy, that of the global memory. Empty if there is
// none.
std::string_view memory_place_of(const Instruction& i);

}  // namespace cudadiag::sass
