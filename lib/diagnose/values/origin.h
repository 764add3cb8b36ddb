// Finds the origin of the failing operator's bad value, in a rerun that traced values.
#pragma once

#include "diagnose/facts/model.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Returns whether an argument of the finding has an element out of bounds.
bool names_bad_value(const Finding& finding);

// Adds the origin, if known, to each finding whose line received a bad value in a rerun that traced values.
void add_origins(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
