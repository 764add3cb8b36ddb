// Adds what the GPU and NVIDIA's tools tell about a failure (symbolize/tool_results.h) to the findings.
#pragma once

#include <cstddef>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "evidence/core_facts.h"
#include "session/session.h"
#include "symbolize/tool_results.h"

namespace cudadiag::diagnose {

// Returns the index of the innermost line that is not in a header of CUDA or its libraries. Functions from such headers
// are inlined into user code. Returns 0 if all lines are in such headers.
std::size_t leading_line(const std::vector<evidence::SourceLine>& lines);

// Sets `device` of the finding that the evidence matches, and `device_unknown` of the others. Evidence that matches no
// finding becomes a note. Compares kernels by name, because a dump from another run may be about a different failure.
// `failures` has one entry for each finding.
void add_device(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const std::vector<const analyse::Failure*>& failures, const symbolize::ToolResults& results);

}  // namespace cudadiag::diagnose
