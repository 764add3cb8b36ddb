// Which operations of a stream may have been running when the state was captured.
//
// The GPU processes a stream in order, and a marker says "everything up to here has finished". Any operation between
// the last written marker and the first unwritten one may have stopped the stream:
//
//    ordinal   1   2   3   4   5   6   7   8
//    marker        w               q           w: written, q: queued and not written
//    window            [-----------]
#pragma once

#include <cstdint>
#include <span>

#include "analyse/streams.h"

namespace cudadiag::analyse {

inline constexpr std::uint32_t kAnyCall = 0xffffffff;  // value of `marked_by` if the call is unknown

struct Window {
  std::size_t begin = 0, end = 0;  // half-open range in StreamHistory::operations
  bool bounded = false;            // the window ends at a marker that was queued but not written
  std::uint32_t bound = 0;         // if bounded: at least one operation up to this ordinal was unfinished
  // Upper limit for the ordinal of the operation whose call queued the marker. May be `bound` + 1.
  std::uint32_t marked_by = 0;
  std::uint32_t missing = 0;  // how many records of the window are lost
  bool lost_first = false;    // the record of the first unfinished operation, the likeliest to have failed, is lost

  std::span<const session::Operation* const> of(const StreamHistory& history) const {
    return std::span(history.operations).subspan(begin, end - begin);
  }
};

Window candidate_window(const StreamHistory& history);

}  // namespace cudadiag::analyse
