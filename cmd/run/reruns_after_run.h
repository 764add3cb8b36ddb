// Reruns the command after a run.
#pragma once

#include <set>

#include "launch/signals.h"
#include "launch/standard_descriptors.h"
#include "run/run_report.h"
#include "shared_options.h"
#include "supervise/record_pass.h"

namespace cudadiag::command {

// Reruns the command if the policy or the user allows it, and prints messages about the reruns. Call this after the
// recording is finished and `report` has been printed. `signals`: those that cudadiag passed on to the command.
void offer_reruns(supervise::Recording& recording, RunReport& report, const RunOptions& options,
                  const launch::Input& input, launch::SignalRelay& relay, const std::set<int>& signals);

}  // namespace cudadiag::command
