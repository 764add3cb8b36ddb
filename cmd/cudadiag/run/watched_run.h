// `cudadiag run`: the command, everything that observes it, its report and its reruns.
#pragma once

#include "run/run_options.h"

namespace cudadiag::command {

// Returns the exit status if the command was not run or `options` sets one for findings. Otherwise, this process ends
// in the same way as the command.
int run(const RunOptions& options);

}  // namespace cudadiag::command
