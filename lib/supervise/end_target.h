// Ends a target and all processes that it started.
#pragma once

#include <chrono>

#include "launch/process.h"

namespace cudadiag::supervise {

// Asks these processes to end, waits for `grace`, and then kills them. Returns false if the target is stuck in the GPU
// driver and was left running.
bool end_target(launch::Target& target, launch::SignalRelay& relay, std::chrono::milliseconds grace);

}  // namespace cudadiag::supervise
