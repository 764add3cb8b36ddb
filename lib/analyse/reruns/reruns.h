// Applies reruns to the first run's verdict: they prove one of its candidates, find another failure, or find none.
#pragma once

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Evaluates session.reruns and merges the results into analysis.failures, which contains the failures of the record
// pass. What the first run measured stays valid: if a rerun fails elsewhere, its failure is added as a separate one.
void join_reruns(const session::Session& session, Analysis& analysis);

// True if a rerun proved that the operation fails with nothing else on the GPU, so that no race is the reason. Always
// false for a graph, because its nodes can run at the same time.
bool failed_alone(const Failure& failure);

}  // namespace cudadiag::analyse
