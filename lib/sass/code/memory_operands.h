// Determines from an instruction's operands which memory the instruction uses. Internal to lib/sass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sass/code/lines.h"
#include "sass/mode.h"

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

// Finds the sizes of the block and the grid in constant bank 0.
struct SizeInBank {
  bool of_grid = false;
  std::size_t axis = 0;
};

// Returns which size, if any, is at `offset`. The layout depends on the architecture, which is recognised by
// `bank_offset`, the offset of the parameters.
inline std::optional<SizeInBank> size_in_bank(std::uint32_t bank_offset, std::uint32_t offset) {
  const bool older = bank_offset == 0x160 || bank_offset == 0x210;
  if ((!older && bank_offset != 0x380) || offset % 4 != 0) return std::nullopt;
  const std::uint32_t block = older ? 0 : 0x360, grid = older ? 0xc : 0x370;
  if (offset >= block && offset < block + 12) return SizeInBank{false, (offset - block) / 4};
  if (offset >= grid && offset < grid + 12) return SizeInBank{true, (offset - grid) / 4};
  return std::nullopt;
}

}  // namespace cudadiag::sass
