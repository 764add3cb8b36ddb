// Terminates a target and all processes that it started.
#pragma once

#include <chrono>

#include "launch/process.h"

namespace cudadiag::supervise {

// Sends SIGTERM to the target and to all processes that it started, waits up to `grace`, and then kills those that
// remain. Returns false if a process is stuck in the GPU driver and was left running.
bool end_target(launch::Target& target, launch::SignalRelay& relay, std::chrono::milliseconds grace);

}  // namespace cudadiag::supervise
