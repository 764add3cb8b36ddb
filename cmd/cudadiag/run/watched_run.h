// `cudadiag run`: the command, what watches it, its report and its reruns.
#pragma once

#include "run/run_options.h"

namespace cudadiag::command {

// The exit status, if the command was not run or `options` names one for findings. Otherwise this process ends as the
// command ended.
int run(const RunOptions& options);

}  // namespace cudadiag::command
