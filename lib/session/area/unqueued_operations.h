// Finds operations that have an ordinal but were not queued yet when the area was read.
#pragma once

#include <cstdint>
#include <span>

#include "session/process_record.h"

namespace cudadiag::session {

// A thread that is about to call the driver takes its operation's ordinal before it writes the record. While such a
// call is in flight, its ordinal has no record, and the GPU cannot have received the operation. Removes these ordinals
// from the streams of `record`: at most one per call in flight. `in_flight` is the number of threads inside a call, per
// stream.
void leave_out_unqueued(ProcessRecord& record, std::span<const std::uint32_t> in_flight);

}  // namespace cudadiag::session
