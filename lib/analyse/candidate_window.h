// The part of a stream that may have been running when the state was captured.
//
// The GPU takes a stream's operations in order, and a marker says "everything up to here has finished". Between the
// last marker that was written and the first one that was not, any operation may be the one that stopped the stream:
//
//    ordinal   1   2   3   4   5   6   7   8
//    marker        w               q           w: written, q: queued and not written
//    window            [-----------]
#pragma once

#include <cstdint>
#include <span>

#include "analyse/stream_history.h"

namespace cudadiag::analyse {

inline constexpr std::uint32_t kAnyCall = 0xffffffff;  // an unrecorded call, at any time

struct Window {
  std::size_t begin = 0, end = 0;  // half-open range in StreamHistory::operations
  bool bounded = false;            // it ends at a marker that was queued and not written
  std::uint32_t bound = 0;         // if bounded: something up to this ordinal was unfinished
  // The marker was queued by the call that issued an operation with at most this ordinal, which may be `bound` + 1.
  std::uint32_t marked_by = 0;
  std::uint32_t missing = 0;  // number of operations in it whose records are lost
  bool lost_first = false;    // the likeliest one, the first unfinished operation of the stream, is among these

  std::span<const session::Operation* const> of(const StreamHistory& history) const {
    return std::span(history.operations).subspan(begin, end - begin);
  }
};

Window candidate_window(const StreamHistory& history);

}  // namespace cudadiag::analyse
