#pragma once

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// PyTorch refuses to use CUDA in a forked process, before any CUDA call. If a Python program failed without a recorded
// CUDA failure, this adds a note with the line that forked.
void note_forks(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
