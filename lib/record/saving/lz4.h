// Decompresses LZ4 blocks, which older fat binaries contain.
#pragma once

#include <cstddef>
#include <span>

namespace cudadiag::record {

// Returns false if the block is damaged, or does not fill `to` exactly.
bool decompress_lz4(std::span<const std::byte> from, std::span<std::byte> to);

}  // namespace cudadiag::record
