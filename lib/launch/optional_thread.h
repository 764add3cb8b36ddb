// Starts threads that a run can do without. If a limit on threads is reached, the run continues without them.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace cudadiag::launch {

// Returns a non-joinable thread if the limit allows no more threads.
template <typename Function>
std::thread optional_thread(Function function) {
  try {
    return std::thread(std::move(function));
  } catch (const std::system_error&) {
    return {};
  }
}

}  // namespace cudadiag::launch
