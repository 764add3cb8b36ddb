// The values that Python code of ours took in the rerun that confirmed a failure, joined to its finding.
#pragma once

#include "analyse/analysis.h"
#include "report/report.h"

namespace cudadiag::report {

// Of the failing operator's own arguments where they are known, else of the variables that its line names.
void add_delivered(Finding& finding, const analyse::Failure& failure);

// What stood at watched lines before the failure.
void add_watched(Finding& finding, const analyse::Failure& failure);

// What PyTorch's allocator held in the rerun for it, of a finding that wants memory.
void add_tensor_memory(Finding& finding, const session::Session& session, const symbolize::Symbolizer& symbolizer);

// The call that was saved, where one was asked for.
void add_inputs(Finding& finding, const analyse::Failure& failure, const session::Session& session);

}  // namespace cudadiag::report
