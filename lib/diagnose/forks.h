// Notes the line of a fork() that explains why a Python program failed.
#pragma once

#include "analyse/analysis.h"
#include "diagnose/facts/model.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// If a Python program failed without a CUDA failure, adds a note with the line that forked after CUDA was used. In the
// child, PyTorch raises an error before it calls CUDA.
void note_forks(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
