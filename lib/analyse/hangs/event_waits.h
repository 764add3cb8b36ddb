// Finds the operations that cannot have started, because their stream waits for an event of another stream. A stream
// that waits for an event runs no later work until the recording stream reaches that event.
//
// Ignores the default stream's implicit waits for other streams, because they depend on flags that are not recorded.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "analyse/candidate_window.h"
#include "analyse/streams.h"

namespace cudadiag::analyse {

struct StreamStart {
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t blocked_after = kNever;  // nothing after this ordinal can have started
  std::uint32_t unsure_after = kNever;   // work after this ordinal waits for something that may be unfinished
};

// Returns one entry per stream; `windows` has one entry per history.
std::vector<StreamStart> stream_starts(const std::vector<StreamHistory>& histories, const std::vector<Window>& windows,
                                       const EventLog& events);

}  // namespace cudadiag::analyse
