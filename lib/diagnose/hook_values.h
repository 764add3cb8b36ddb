// Adds the values that cudadiag's Python hook captured in reruns, and where a bad value came from.
#pragma once

#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "session/session.h"
#include "symbolize/source_stack.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Adds the arguments of the failing operator if they are known, else the variables on the failing line.
void add_hook_values(Finding& finding, const analyse::Failure& failure);

// Returns the user's innermost line; an unknown location if there is none.
Location line_of_user(const symbolize::SourceStack& stack);

// Adds the values that were captured at watched lines before the failure.
void add_watched(Finding& finding, const analyse::Failure& failure);

// For a call that ran out of memory: adds what PyTorch's allocator reported in a rerun.
void add_tensor_memory(Finding& finding, const session::Session& session, const symbolize::Symbolizer& symbolizer);

// Adds the saved call or launch, if the user requested one.
void add_inputs(Finding& finding, const analyse::Failure& failure, const session::Session& session);
void add_saved_launch(Finding& finding, const analyse::Failure& failure, const session::Session& session);

// Returns whether an argument of the finding has an element out of bounds.
bool names_bad_value(const Finding& finding);

// Adds the origin, if known, to each finding whose line received a bad value in a rerun that traced values.
void add_origins(Diagnosis& report, const session::Session& session,
                 const std::vector<const analyse::Failure*>& failures, const symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
