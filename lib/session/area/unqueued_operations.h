// Operations that have an ordinal and were not queued yet when the area was read.
#pragma once

#include <cstdint>
#include <span>

#include "session/process_record.h"

namespace cudadiag::session {

// A thread that is about to call the driver takes its operation's ordinal before it writes the record. So up to as many
// ordinals without a record as there are calls in flight without one are of operations that the GPU cannot have been
// given: takes these out of the streams of `record`. `in_flight`: threads inside a call, for each stream.
void leave_out_unqueued(ProcessRecord& record, std::span<const std::uint32_t> in_flight);

}  // namespace cudadiag::session
