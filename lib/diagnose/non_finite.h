// Adds the findings of `cudadiag nans`. Each names the first operator whose result was not finite and was used.
#pragma once

#include "diagnose/facts/model.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Adds at most one finding for each process, sorted by pid.
void add_non_finite(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
