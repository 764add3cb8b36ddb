// Adds the origin of a bad value of the failing operator, from a rerun that traced it.
#pragma once

#include "diagnose/diagnosis.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Whether an argument of the finding has an element out of bounds.
bool names_bad_value(const Finding& finding);

// Adds the known origin to each finding whose line received a bad value in a rerun that traced values.
void add_origins(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
