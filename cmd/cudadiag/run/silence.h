// The message at the end of a run without a finding: why nothing was recorded, or that no failure or race was seen.
#pragma once

#include "diagnose/diagnosis.h"
#include "run/run_options.h"
#include "supervise/recording.h"

namespace cudadiag::command {

// True: a message said why nothing was recorded at all.
bool explain_silence(const supervise::Recording& recording, const RunOptions& options, const supervise::RunEnd& end,
                     const diagnose::Diagnosis& report);

// After `cudadiag nans`: that there is none, or why nothing was checked.
void print_no_nan(const supervise::Recording& recording, const diagnose::Diagnosis& report,
                  report::Verbosity verbosity);

// After `cudadiag races --tensors`, likewise.
void print_no_tensor_race(const supervise::Recording& recording, const diagnose::Diagnosis& report,
                          report::Verbosity verbosity);

// If there is none.
void print_no_race(const session::Races& races, report::Verbosity verbosity);

}  // namespace cudadiag::command
