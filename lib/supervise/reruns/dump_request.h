// Requests GPU core dumps of running kernels from the driver. The driver creates a pipe for each process. When someone
// writes to the pipe, the driver writes a dump and terminates the process.
#pragma once

#include <chrono>
#include <filesystem>
#include <set>
#include <string>

namespace cudadiag::supervise {

class DumpRequest {
 public:
  // Create this just after starting the target. The target's environment must contain `pipe_pattern`.
  DumpRequest(std::filesystem::path folder, double after_seconds);

  // Returns the value for CUDA_COREDUMP_PIPE.
  static std::string pipe_pattern(const std::filesystem::path& folder);

  // Sends the requests when they are due. Call this regularly. Returns true once the processes that received a request
  // are gone, or have taken too long.
  bool proceed();
  // Returns whether any process received the request.
  bool was_taken() const { return !asked_.empty(); }

 private:
  using Clock = std::chrono::steady_clock;
  void ask();

  std::filesystem::path folder_;
  Clock::time_point due_;
  Clock::time_point patience_{};
  std::set<int> asked_;  // pids
};

}  // namespace cudadiag::supervise
