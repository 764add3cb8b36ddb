// Says why a run has no findings: it was not recorded, or what was looked for was not found.
#pragma once

#include "diagnose/facts/report_model.h"
#include "report/writers.h"
#include "session/session.h"
#include "shared_options.h"
#include "supervise/record_pass.h"

namespace cudadiag::command {

// If nothing was recorded at all, prints why and returns true.
bool explain_no_recording(const supervise::Recording& recording, const RunOptions& options,
                          const supervise::RunEnd& end, const diagnose::Diagnosis& report);

// For `cudadiag nans`: prints that no NaN was found, or why no values were checked.
void print_no_nan(const supervise::Recording& recording, const diagnose::Diagnosis& report,
                  report::Verbosity verbosity);

// For `cudadiag races --tensors`: prints that no race was found, or why no operators were checked.
void print_no_tensor_race(const supervise::Recording& recording, const diagnose::Diagnosis& report,
                          report::Verbosity verbosity);

void print_no_race(const session::Races& races, report::Verbosity verbosity);

}  // namespace cudadiag::command
