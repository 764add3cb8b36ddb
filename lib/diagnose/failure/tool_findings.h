// Adds what compute-sanitizer and cuda-gdb found to the findings.
#pragma once

#include <string>

#include "diagnose/facts/report_model.h"
#include "symbolize/tool_results.h"

namespace cudadiag::diagnose {

// Adds the findings of other tools, labelled with the tool's name. If they differ from cudadiag's own, the report shows
// both. Call this after add_device(), because facts from the core dump take precedence.
void add_tool_findings(Diagnosis& report, const symbolize::ToolResults& results);

// Returns true if memcheck may add facts to this finding, because a kernel that may have failed is known.
bool memcheck_may_help(const Finding& finding);

// Returns the outcome of the compute-sanitizer pass in a few words.
std::string outcome_of(const symbolize::SanitizerResult& results);

}  // namespace cudadiag::diagnose
