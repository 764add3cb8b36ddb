// How far a live process has come, by reading a few fields of its area, which is cheap enough to be repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cudadiag::session {

// Stream operations that it has issued so far.
std::uint64_t operations_so_far(std::span<const std::byte> area);

// Changes whenever it issues an operation, one of its operations is seen to end, or a call that may block begins or
// returns.
std::uint64_t progress_digest(std::span<const std::byte> area);

}  // namespace cudadiag::session
