// Ends a target and all that it has started.
#pragma once

#include <chrono>

#include "launch/process.h"

namespace cudadiag::supervise {

// Asks, waits for `grace`, then kills. False: not even that has ended it, as when it is stuck inside the GPU's driver.
bool end_target(launch::Target& target, launch::SignalRelay& relay, std::chrono::milliseconds grace);

}  // namespace cudadiag::supervise
