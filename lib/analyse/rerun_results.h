// Combines the failures of the reruns with those of the first run, and compares the reruns with each other.
#pragma once

#include "analyse/analysis.h"
#include "session/session.h"

namespace cudadiag::analyse {

// Evaluates session.reruns and merges the results into analysis.failures, which contains the failures of the record
// pass. If a rerun fails at a different operation, its failure is added as a separate one.
void join_reruns(const session::Session& session, Analysis& analysis);

// Returns true if a rerun proved that the operation fails with nothing else on the GPU, which rules out a race. Always
// false for a graph, because its nodes can run at the same time.
bool failed_alone(const Failure& failure);

}  // namespace cudadiag::analyse
