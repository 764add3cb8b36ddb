// The reruns after a run. The policy or the person at the terminal decides whether there are any. Prints the messages
// before, between and after them.
#pragma once

#include "launch/input.h"
#include "launch/process.h"
#include "run/run_options.h"
#include "run/run_report.h"
#include "supervise/recording.h"

namespace cudadiag::command {

// Call this after the recording is finished, and `report` has reported it.
void offer_reruns(supervise::Recording& recording, RunReport& report, const RunOptions& options,
                  const launch::Input& input, launch::SignalRelay& relay);

}  // namespace cudadiag::command
