// The expected and permitted duration of a rerun, based on the first run.
#pragma once

#include <string>

#include "session/session.h"

namespace cudadiag::supervise {

// How long one rerun will probably take until its failure.
double expected_seconds(const session::Session& session);

// The longest time in which the first run issued no operation; the run's whole duration if this is unknown.
double longest_pause(const session::Session& session);

// Returns the window (wire/rerun/window.h) with a time limit for one operation added.
std::string with_patience(const std::string& window, double seconds);

}  // namespace cudadiag::supervise
