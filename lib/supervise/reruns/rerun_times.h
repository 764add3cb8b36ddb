// How long a rerun takes and may take, by the first run.
#pragma once

#include <string>

#include "session/session.h"

namespace cudadiag::supervise {

// How long one rerun will take, by the first run: to its failure.
double expected_seconds(const session::Session& session);

// The longest time in which the first run issued no operation, as far as can be known; its whole length otherwise.
double longest_pause(const session::Session& session);

// The window (wire/rerun/window.h) with the time that one operation may take.
std::string with_patience(const std::string& window, double seconds);

}  // namespace cudadiag::supervise
