// Starts threads that a run can do without, because a limit on the number of processes may leave room only for the
// target.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace cudadiag::launch {

// Returns a thread that is not joinable if the limit does not allow another thread.
template <typename Function>
std::thread optional_thread(Function function) {
  try {
    return std::thread(std::move(function));
  } catch (const std::system_error&) {
    return {};
  }
}

}  // namespace cudadiag::launch
