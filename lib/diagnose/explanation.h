// Finds the cause of each finding (causes/explain.h). Uses the facts of the finding, its process and other findings.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/model.h"
#include "session/session.h"

namespace cudadiag::diagnose {

// Sets `cause` and `fix` of each finding that a rule matches; other findings keep their general next steps. `failures`
// has one entry for each finding, in the same order. The rules read the other members of the findings, including
// arguments and device, so set those first.
void add_causes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
