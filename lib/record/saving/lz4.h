// Decompresses a block of LZ4, as old fat binaries have it.
#pragma once

#include <cstddef>
#include <span>

namespace cudadiag::record {

// False: it is damaged, or does not fill `to` exactly.
bool decompress_lz4(std::span<const std::byte> from, std::span<std::byte> to);

}  // namespace cudadiag::record
