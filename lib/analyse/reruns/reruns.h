// Applies reruns to the first run's verdict: they prove one of its candidates, find another failure, or find none.
#pragma once

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Judges session.reruns and adds their findings to analysis.failures, which contains those of the record pass. The
// first run's measurements remain valid: the failure of a rerun that fails elsewhere is added to them.
void join_reruns(const session::Session& session, Analysis& analysis);

// Whether a rerun proved that the operation fails with nothing else on the GPU, so that no race is the reason. Never for
// a graph, whose nodes can run at the same time.
bool failed_alone(const Failure& failure);

}  // namespace cudadiag::analyse
