// Adds what the GPU and NVIDIA's tools tell about a failure (symbolize/tool_results.h) to its candidates and to the
// findings.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "evidence/core_facts.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"
#include "symbolize/tool_results.h"

namespace cudadiag::diagnose {

// In each failure with several candidates, moves those with the dump's kernel to the front. If only one line of the
// program launches that kernel, removes the other candidates and grades the failure as proven. Changes nothing if a
// rerun has proven a line, if the error differs, or if no candidate has that kernel.
void weigh_by_dump(std::vector<analyse::Failure>& failures, const symbolize::ToolResults& results,
                   const session::Session& session, symbolize::Symbolizer& symbolizer);

// Returns the index of the innermost line that is not in a header of CUDA or its libraries. Functions from such headers
// are inlined into user code. Returns 0 if all lines are in such headers.
std::size_t leading_line(const std::vector<evidence::SourceLine>& lines);

// Sets `device` of the finding that the evidence matches, and `device_unknown` of the others. Evidence that matches no
// finding becomes a note. Compares kernels by name, because a dump from another run may be about a different failure.
// `failures` has one entry for each finding.
void add_device(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const std::vector<const analyse::Failure*>& failures, const symbolize::ToolResults& results);

// Adds the findings of other tools, labelled with the tool's name. If they differ from cudadiag's own, the report shows
// both. Call this after add_device(), because facts from the core dump take precedence.
void add_tool_findings(Diagnosis& report, const symbolize::ToolResults& results);

// Returns true if memcheck may add facts to this finding, because a kernel that may have failed is known.
bool memcheck_may_help(const Finding& finding);

// Returns the outcome of the compute-sanitizer pass in a few words.
std::string outcome_of(const symbolize::SanitizerResult& results);

}  // namespace cudadiag::diagnose
