// Adds findings for operations that use the wrong bytes of memory, or at the wrong time: copies whose source the host
// changed, kernels that leave their allocations, and graphs that replay on memory of other tensors.
#pragma once

#include "diagnose/facts/report_model.h"
#include "diagnose/line_resolver.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Adds one finding for each line that issues a copy whose source the host changed.
void add_host_writes(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

// Adds the replays of graphs that use host memory which no longer exists.
void add_ended_memory(Diagnosis& report, const session::Session& session, const ResolveSite& resolve,
                      symbolize::Symbolizer& symbolizer);

// Adds the replays of graphs that use memory which PyTorch's allocator has given to another tensor since the capture.
// The Python hook finds them in a run with --graph-memory.
void add_recycled_blocks(Diagnosis& report, const session::Session& session, symbolize::Symbolizer& symbolizer);

// Adds races between threads of one launch.
void add_kernel_races(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);
// Adds findings for kernels that access bytes outside their allocations, even if nothing failed, one for each line and
// kernel.
void add_overruns(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
