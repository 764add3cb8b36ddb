// Walks the data of a sparse file without touching its holes, so that reading an area makes no memory of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace cudadiag::session {

// Calls `take` with each piece of data in [begin, end) of `file`, in whole pages where possible, at its offset from
// `begin`; it may return false to stop. False with errno set if reading failed.
bool for_each_data(int file, std::uint64_t begin, std::uint64_t end,
                   const std::function<bool(std::uint64_t offset, std::span<const std::byte> data)>& take);

// Copies [begin, end) of `source` to the empty file `target`, pages of zeros left out. False with errno set.
bool copy_sparse(int source, std::uint64_t begin, std::uint64_t end, int target);

}  // namespace cudadiag::session
