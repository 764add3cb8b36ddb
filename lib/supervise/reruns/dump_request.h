// Asks the driver for GPU core dumps of kernels that are running: it makes a pipe for each process, and writes a dump
// and ends the process when something is written there.
#pragma once

#include <chrono>
#include <filesystem>
#include <set>
#include <string>

namespace cudadiag::supervise {

class DumpRequest {
 public:
  // For the target that has just been started with `pipe_pattern` in its environment.
  DumpRequest(std::filesystem::path folder, double after_seconds);

  // For CUDA_COREDUMP_PIPE.
  static std::string pipe_pattern(const std::filesystem::path& folder);

  // Asks when it is time. To be called every so often; true once those that were asked are gone, or take too long.
  bool proceed();
  // Some process has taken the request.
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
