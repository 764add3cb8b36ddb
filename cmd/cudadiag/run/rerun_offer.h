// Reruns the command after a run, if the policy or the user allows it, and prints messages about the reruns.
#pragma once

#include "launch/input.h"
#include "launch/process.h"
#include "run/run_options.h"
#include "run/run_report.h"
#include "supervise/recording.h"

namespace cudadiag::command {

// Call this after the recording is finished and `report` has been printed.
void offer_reruns(supervise::Recording& recording, RunReport& report, const RunOptions& options,
                  const launch::Input& input, launch::SignalRelay& relay);

}  // namespace cudadiag::command
