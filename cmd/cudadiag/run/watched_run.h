// Implements `cudadiag run`: starts the command with everything that observes it, reports, and reruns.
#pragma once

#include "run/run_options.h"

namespace cudadiag::command {

// Returns the exit status if the command was not run, or if `options` sets a status for findings. Otherwise, this
// process ends as the command did.
int run(const RunOptions& options);

}  // namespace cudadiag::command
