// Reads a live process's progress from a few fields of its area. This is cheap enough to be done repeatedly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cudadiag::session {

std::uint64_t operations_so_far(std::span<const std::byte> area);

// Returns a number that changes with progress: when an operation is issued or seen to have finished, or when a call
// that may block begins or returns.
std::uint64_t progress_digest(std::span<const std::byte> area);

// The progress of one of the process's streams.
struct StreamProgress {
  std::uint64_t created = 0;  // ticks; differs between streams that use the same entry; 0 if the entry is free
  std::uint32_t issued = 0;
  std::uint32_t completed = 0;  // ordinal up to which everything has finished, according to markers and host waits

  std::uint32_t marked = 0;  // ordinal of the newest queued marker

  bool busy() const { return created != 0 && issued > completed; }
  // Returns whether the GPU has not written the newest queued marker yet. This proves that the stream has unfinished
  // work.
  bool certainly_busy() const { return busy() && marked > completed; }
};

// Returns one element per stream entry, by index.
std::vector<StreamProgress> stream_progress(std::span<const std::byte> area);

}  // namespace cudadiag::session
