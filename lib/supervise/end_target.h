// Ends a target and everything that it has started.
#pragma once

#include <chrono>

#include "launch/process.h"

namespace cudadiag::supervise {

// Asks, waits for `grace`, then kills. Returns false if the target is left because it is stuck in the GPU's driver.
bool end_target(launch::Target& target, launch::SignalRelay& relay, std::chrono::milliseconds grace);

}  // namespace cudadiag::supervise
