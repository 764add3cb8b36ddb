// Where a bad value of the failing operator came from, by a rerun that traced it.
#pragma once

#include "diagnose/diagnosis.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Some argument of the finding has an element outside of its bound.
bool names_bad_value(const Finding& finding);

// To each finding whose line was given a bad value in such a rerun, as far as it is known where that came from.
void add_origins(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
