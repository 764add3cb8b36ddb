// The message at the end of a run without a finding: why nothing was recorded, or that no failure or race was found.
#pragma once

#include "diagnose/diagnosis.h"
#include "run/run_options.h"
#include "supervise/recording.h"

namespace cudadiag::command {

// Returns true if a message said why nothing was recorded at all.
bool explain_no_recording(const supervise::Recording& recording, const RunOptions& options,
                          const supervise::RunEnd& end, const diagnose::Diagnosis& report);

// For `cudadiag nans`: prints that no NaN was found, or why nothing was checked.
void print_no_nan(const supervise::Recording& recording, const diagnose::Diagnosis& report,
                  report::Verbosity verbosity);

// The same for `cudadiag races --tensors`.
void print_no_tensor_race(const supervise::Recording& recording, const diagnose::Diagnosis& report,
                          report::Verbosity verbosity);

// Prints that no race was found.
void print_no_race(const session::Races& races, report::Verbosity verbosity);

}  // namespace cudadiag::command
