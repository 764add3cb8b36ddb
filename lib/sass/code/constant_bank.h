// Finds the sizes of the block and the grid in constant bank 0. Internal to lib/sass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cudadiag::sass {

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
