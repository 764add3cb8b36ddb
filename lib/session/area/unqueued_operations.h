// Finds operations that have an ordinal but were not queued yet when the area was read.
#pragma once

#include <cstdint>
#include <span>

#include "session/process_record.h"

namespace cudadiag::session {

// Removes from the streams of `record` the ordinals of operations that the GPU cannot have received: at most one per
// call in flight. A thread takes its operation's ordinal, then writes the record, and then calls the driver. An ordinal
// without a record thus belongs to an operation that was not queued yet, if a call was in flight. `in_flight` is the
// number of threads inside a call, per stream.
void leave_out_unqueued(ProcessRecord& record, std::span<const std::uint32_t> in_flight);

}  // namespace cudadiag::session
