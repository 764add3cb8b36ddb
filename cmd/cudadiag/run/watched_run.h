// Implements `cudadiag run`: runs the command under observation, reports its findings, and reruns it.
#pragma once

#include "launch/input.h"
#include "launch/process.h"
#include "run/run_options.h"
#include "run/run_report.h"
#include "supervise/recording.h"

namespace cudadiag::command {

// Returns an exit status if the command was not run, or if `options` sets a status for findings. Otherwise it does not
// return: this process ends with the same status or signal as the command.
int run(const RunOptions& options);

// Reruns the command if the policy or the user allows it, and prints messages about the reruns. Call this after the
// recording is finished and `report` has been printed.
void offer_reruns(supervise::Recording& recording, RunReport& report, const RunOptions& options,
                  const launch::Input& input, launch::SignalRelay& relay);

}  // namespace cudadiag::command
