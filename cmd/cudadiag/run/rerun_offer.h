// The reruns after a run: whether they are made, by the policy or by the answer of the person at the terminal, and the
// messages before, between and after them.
#pragma once

#include "launch/input.h"
#include "launch/process.h"
#include "run/run_options.h"
#include "run/run_report.h"
#include "supervise/recording.h"

namespace cudadiag::command {

// After the recording is finished and reported, by `report`.
void offer_reruns(supervise::Recording& recording, RunReport& report, const RunOptions& options,
                  const launch::Input& input, launch::SignalRelay& relay);

}  // namespace cudadiag::command
