// The values that Python code of ours took in the rerun that confirmed a failure, joined to its finding.
#pragma once

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Adds the failing operator's own arguments if they are known, otherwise the variables that its line names.
void add_captured_values(Finding& finding, const analyse::Failure& failure);

Argument argument_of(const session::DeliveredValue& value);

// The user's innermost line. All of it is unknown if no line is the user's.
Location line_of_user(const symbolize::SourceStack& stack);

// Adds the values at watched lines before the failure.
void add_watched(Finding& finding, const analyse::Failure& failure);

// For a finding that lacks memory: adds what PyTorch's allocator held in the rerun that asked it.
void add_tensor_memory(Finding& finding, const session::Session& session, const symbolize::Symbolizer& symbolizer);

// The call that was saved, if the user asked for one.
void add_inputs(Finding& finding, const analyse::Failure& failure, const session::Session& session);
void add_saved_launch(Finding& finding, const analyse::Failure& failure, const session::Session& session);

}  // namespace cudadiag::diagnose
