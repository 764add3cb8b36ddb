// How far a live process has come, by reading a few fields of its area, which is cheap enough to be repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cudadiag::session {

// Stream operations that it has issued so far.
std::uint64_t operations_so_far(std::span<const std::byte> area);

// Changes whenever it issues an operation, one of its operations is seen to end, or a call that may block begins or
// returns.
std::uint64_t progress_digest(std::span<const std::byte> area);

// How far one of its streams is.
struct StreamProgress {
  std::uint64_t created = 0;  // ticks: an entry is used again for another stream. 0: the entry is free
  std::uint32_t issued = 0;
  std::uint32_t completed =
      0;  // everything up to this ordinal has finished, by markers and by what the host waited for

  std::uint32_t marked = 0;  // ordinal in the newest marker that was queued

  bool busy() const { return created != 0 && issued > completed; }
  // A marker that is not written follows its oldest work.
  bool certainly_busy() const { return busy() && marked > completed; }
};

// One for each entry, by index.
std::vector<StreamProgress> stream_progress(std::span<const std::byte> area);

}  // namespace cudadiag::session
