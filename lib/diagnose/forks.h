#pragma once

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Adds a note with the line that forked after using CUDA, if a Python program failed without a CUDA failure. PyTorch
// raises an error in the child before it calls CUDA.
void note_forks(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
