// Handles source files that were written after the failure. Their text may differ from the code that ran, so it is
// neither shown nor used as evidence.
#pragma once

#include <optional>
#include <string>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "session/process_record.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Returns the time at which the failure was noticed, in seconds since the epoch. All code on the failure's stacks had
// been loaded by that time. Returns nullopt if the process's clock is unknown.
std::optional<double> met_at(const analyse::Failure& failure);
// Returns the time of the process's latest record, in seconds since the epoch.
std::optional<double> heard_until(const session::ProcessRecord& record);

// Removes the text of the finding's lines if their file was written after `met`.
void drop_changed_sources(Finding& finding, const session::ProcessRecord& record, std::optional<double> met);

// If a rerun ran a different version of the source than the first run, says so in `because`. `finding` must be the
// finding of `failure`.
void compare_rerun_source(Finding& finding, const analyse::Failure& failure, const session::Session& session,
                          symbolize::Symbolizer& symbolizer);

// Returns what to show in place of the finding's line if drop_changed_sources() removed the text; else "".
std::string changed_source_text(const Finding& finding);

void note_changed_sources(Diagnosis& report);

}  // namespace cudadiag::diagnose
