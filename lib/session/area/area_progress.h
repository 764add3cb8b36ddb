// The progress of a live process, from a few fields of its area; cheap enough to read repeatedly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cudadiag::session {

// Returns the number of stream operations that it has issued so far.
std::uint64_t operations_so_far(std::span<const std::byte> area);

// Changes whenever the process issues an operation, one of its operations is seen to finish, or a call that may block
// begins or returns.
std::uint64_t progress_digest(std::span<const std::byte> area);

// The progress of one of its streams.
struct StreamProgress {
  std::uint64_t created = 0;  // ticks; entries are reused for other streams. 0: the entry is free
  std::uint32_t issued = 0;
  std::uint32_t completed = 0;  // everything up to this ordinal has finished (markers, host waits)

  std::uint32_t marked = 0;  // the ordinal that the newest queued marker covers

  bool busy() const { return created != 0 && issued > completed; }
  // Returns whether a queued marker that is not written yet follows its oldest work.
  bool certainly_busy() const { return busy() && marked > completed; }
};

// One per entry, by index.
std::vector<StreamProgress> stream_progress(std::span<const std::byte> area);

}  // namespace cudadiag::session
