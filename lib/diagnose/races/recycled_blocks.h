// Adds the replays of graphs that use memory which PyTorch's allocator has given to another tensor since the capture. The
// Python hook finds them in a run with --graph-memory.
#pragma once

#include "diagnose/facts/model.h"
#include "diagnose/operation_memory.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

void add_recycled_blocks(Diagnosis& report, const session::Session& session, symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
