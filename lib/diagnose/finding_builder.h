// Builds a finding from one failure: its lines, operation, arguments and memory. Facts from other runs and other
// findings are added later (diagnosis.cc).
#pragma once

#include "analyse/analysis.h"
#include "diagnose/facts/model.h"
#include "diagnose/operation_memory.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// `symbolizer` must outlive the result.
ResolveSite located_by(symbolize::Symbolizer& symbolizer);

Finding finding_of(const analyse::Failure& failure, const session::Session& session, symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
