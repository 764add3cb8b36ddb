// Operations that have an ordinal but were not queued yet when the area was read.
#pragma once

#include <cstdint>
#include <span>

#include "session/process_record.h"

namespace cudadiag::session {

// A thread that is about to call the driver takes its operation's ordinal before it writes the record. An ordinal
// without a record may belong to an operation that the GPU cannot have received: one per call in flight that has no
// record. Removes these from the streams of `record`. `in_flight`: number of threads inside a call, per stream.
void leave_out_unqueued(ProcessRecord& record, std::span<const std::uint32_t> in_flight);

}  // namespace cudadiag::session
