// Applies reruns to the first run's verdict: they prove one of its candidates, find another failure, or none.
#pragma once

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Judges session.reruns and works their findings into analysis.failures, which hold those of the record pass. What
// the first run measured stands: a rerun that fails elsewhere is put beside it.
void join_reruns(const session::Session& session, Analysis& analysis);

}  // namespace cudadiag::analyse
