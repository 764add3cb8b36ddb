// Estimates from the first run how long a rerun takes, and how long it may take.
#pragma once

#include <string>

#include "session/session.h"

namespace cudadiag::supervise {

// Returns how many seconds a rerun will probably take until it fails.
double expected_seconds(const session::Session& session);

// Returns the longest period, in seconds, in which the first run issued no operation. If this is unknown, returns the
// duration of the whole run.
double longest_pause(const session::Session& session);

// Returns `window` (wire/rerun/window.h) with an added item that limits the time for each operation.
std::string with_patience(const std::string& window, double seconds);

}  // namespace cudadiag::supervise
