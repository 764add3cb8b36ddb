// Visits the data of a sparse file without reading its holes, which would allocate memory for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace cudadiag::session {

// Calls `take` with each piece of data in [begin, end) of `file`, and with the piece's offset from `begin`. Pieces
// consist of whole pages if possible. `take` may return false to stop. Returns false with errno set if reading failed.
bool for_each_data(int file, std::uint64_t begin, std::uint64_t end,
                   const std::function<bool(std::uint64_t offset, std::span<const std::byte> data)>& take);

// Copies [begin, end) of `source` to the empty file `target`, without pages of zeros. On failure, returns false with
// errno set.
bool copy_sparse(int source, std::uint64_t begin, std::uint64_t end, int target);

}  // namespace cudadiag::session
