// Prints the last message of a run without findings: why nothing was recorded, or that there was no failure or race.
#pragma once

#include "diagnose/facts/model.h"
#include "run/run_options.h"
#include "supervise/recording.h"

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
