// Applies reruns to the first run's verdict: they prove one of its candidates, find another failure, or none.
#pragma once

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Judges session.reruns and adds their findings to analysis.failures, which has those of the record pass. The
// measurements of the first run remain valid: a rerun that fails elsewhere is added beside them.
void join_reruns(const session::Session& session, Analysis& analysis);

}  // namespace cudadiag::analyse
