// The cause of each finding (explain/explain.h), from the facts of the finding, its process and the other findings.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
#include "session/session.h"

namespace cudadiag::diagnose {

// The CUDA library between the program's code and CUDA on this stack: "libcublas.so.13"; empty: none.
std::string cuda_library(const symbolize::SourceStack& stack);

// Sets `cause` and `fix` of the findings that a rule fits; the others keep their general next steps. `failures` are
// those of the findings, in their order. It needs everything else of a finding: call it after arguments and device are
// set.
void add_causes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
