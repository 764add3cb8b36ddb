#pragma once

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// PyTorch itself refuses to use CUDA in a fork, before any call: if a Python program ended badly without a failure that
// was seen, a note names the line that forked.
void note_forks(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
