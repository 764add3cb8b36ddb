// The reruns after a run, and the messages before, between and after them. The policy, or the person at the terminal,
// decides whether there are any.
#pragma once

#include "launch/input.h"
#include "launch/process.h"
#include "run/run_options.h"
#include "run/run_report.h"
#include "supervise/recording.h"

namespace cudadiag::command {

// Call this when the recording is finished and `report` has printed it.
void offer_reruns(supervise::Recording& recording, RunReport& report, const RunOptions& options,
                  const launch::Input& input, launch::SignalRelay& relay);

}  // namespace cudadiag::command
