// Adds findings about memory that is used wrongly although no call failed: races, and accesses outside of the right
// memory.
#pragma once

#include "diagnose/facts/model.h"
#include "diagnose/operation_memory.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Returns a description of how many pairs of kernels could not be checked for a race, and why; empty if all were
// checked. `settled` is the number of pairs that a rerun has since checked.
std::string unjudged_text(const session::Races& races, std::uint64_t settled = 0);

// Adds findings for races between streams, one for each pair of lines. See operation_memory.h for `resolve`.
void add_races(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

// Adds one finding for each line that issues a copy whose source the host changed. See operation_memory.h for
// `resolve`.
void add_host_writes(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

// Adds findings for races between tensors, one for each pair of lines. The races come from a run that followed
// PyTorch's operators.
void add_tensor_races(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer);

// Adds the replays of graphs that use memory which PyTorch's allocator has given to another tensor since the capture. The
// Python hook finds them in a run with --graph-memory.
void add_recycled_blocks(Diagnosis& report, const session::Session& session, symbolize::Symbolizer& symbolizer);

// Adds findings for kernels that access bytes outside their allocations, even if nothing failed, one for each line and
// kernel. See operation_memory.h for `resolve`.
void add_overruns(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
