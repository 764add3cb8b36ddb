// Visits the data of a sparse file without reading its holes, which would allocate memory for them. Also leaves out
// pages of zeros: most of a recording is zero, and copying zeros would allocate memory too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace cudadiag::session {

// Calls `take` with each page in [begin, end) of `file` that is not zero, and with the page's offset from `begin`. The
// last page may be shorter. `take` may return false to stop. Returns false with errno set if reading failed.
bool for_each_page(int file, std::uint64_t begin, std::uint64_t end,
                   const std::function<bool(std::uint64_t offset, std::span<const std::byte> page)>& take);

// Copies [begin, end) of `source` to the empty file `target`, without pages of zeros. On failure, returns false with
// errno set.
bool copy_sparse(int source, std::uint64_t begin, std::uint64_t end, int target);

}  // namespace cudadiag::session
