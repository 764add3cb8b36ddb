// Implements `cudadiag run`: runs the command under observation, reports its findings, and reruns it.
#pragma once

#include "run/run_options.h"

namespace cudadiag::command {

// Returns an exit status if the command was not run, or if `options` sets a status for findings. Otherwise it does not
// return: this process ends with the same status or signal as the command.
int run(const RunOptions& options);

}  // namespace cudadiag::command
