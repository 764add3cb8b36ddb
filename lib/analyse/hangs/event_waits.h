// The conclusions from events between streams about which operations can have started. A stream that waits for an event
// cannot run later work before the stream that recorded the event has got there.
//
// The default stream's implicit waits for other streams are left out: which streams take part depends on flags that
// are not recorded.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "analyse/candidate_window.h"
#include "analyse/stream_history.h"

namespace cudadiag::analyse {

struct StreamStart {
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t blocked_after = kNever;  // nothing after this ordinal can have started
  std::uint32_t unsure_after = kNever;   // work after this ordinal waits for something that may not have finished
};

// One per stream; `windows` are those of `histories`, one each.
std::vector<StreamStart> stream_starts(const std::vector<StreamHistory>& histories, const std::vector<Window>& windows,
                                       const EventLog& events);

}  // namespace cudadiag::analyse
