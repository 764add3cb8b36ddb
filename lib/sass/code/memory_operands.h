// Determines from an instruction's operands which memory the instruction uses. Internal to lib/sass.
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
std::optional<MemoryForm> memory_form_of(const Instruction& i);
// Returns how many bytes a thread reads or writes; 0 if a register contains the size.
std::uint32_t memory_bytes_of(const Instruction& i);
// Returns the address expression among the operands, such as "R2.64+0x10"; for a copy, the global address.
std::string_view memory_place_of(const Instruction& i);

}  // namespace cudadiag::sass
