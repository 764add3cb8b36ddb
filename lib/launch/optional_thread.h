// Threads that a run can do without: a limit on processes may leave room for the target, and for nothing else.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace cudadiag::launch {

// Not joinable: there is no room for one more.
template <typename Function>
std::thread optional_thread(Function function) {
  try {
    return std::thread(std::move(function));
  } catch (const std::system_error&) {
    return {};
  }
}

}  // namespace cudadiag::launch
