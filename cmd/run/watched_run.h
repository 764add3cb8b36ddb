// Implements `cudadiag run`: runs the command under observation, and lets the other files of this folder report its
// findings and rerun it.
#pragma once

#include "shared_options.h"

namespace cudadiag::command {

// Returns an exit status if the command was not run, or if `options` sets a status for findings. Otherwise it does not
// return: this process ends with the same status or signal as the command.
int run(const RunOptions& options);

}  // namespace cudadiag::command
