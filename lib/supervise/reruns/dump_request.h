// Requests GPU core dumps of running kernels from the driver. The driver creates a pipe for each process. When someone
// writes to the pipe, the driver writes a dump and terminates the process.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

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

// Detects whether the driver is still writing a GPU core dump, from the progress that it prints for each SM. Dumping a
// whole GPU takes a minute or more, even if the program itself runs only briefly.
class DumpProgress {
 public:
  // `output`: what a pass with CUDA_COREDUMP_SHOW_PROGRESS prints.
  explicit DumpProgress(std::filesystem::path output) : output_(std::move(output)) {}

  // Returns true if the output has grown since the last call, and its last line is about the driver's progress.
  bool moves();

 private:
  std::filesystem::path output_;
  std::uint64_t size_ = 0;
};

}  // namespace cudadiag::supervise
