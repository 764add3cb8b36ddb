// Requests GPU core dumps of running kernels from the driver. The driver creates a pipe for each process. When someone
// writes to the pipe, the driver writes a dump and terminates the process, unless the recorder is in that process
// (wire/names/core_dump.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "launch/process.h"

namespace cudadiag::supervise {

class DumpRequest {
 public:
  // Create this just after starting the target. The target's environment must contain `pipe_pattern`.
  DumpRequest(std::filesystem::path folder, double after_seconds,
              std::chrono::seconds patience = std::chrono::seconds(30));

  // Returns the value for CUDA_COREDUMP_PIPE.
  static std::string pipe_pattern(const std::filesystem::path& folder);

  // Sends the requests when they are due. Call this regularly. Returns true once the processes that received a request
  // are gone, have a complete dump, or have taken too long.
  bool proceed();
  // Returns whether any process received the request.
  bool was_taken() const { return !asked_.empty(); }

 private:
  using Clock = std::chrono::steady_clock;
  void ask();

  std::filesystem::path folder_;
  Clock::time_point due_;
  std::chrono::seconds patience_;  // dumping everything that runs on a GPU takes about a second
  Clock::time_point limit_{};
  std::map<int, std::filesystem::path> asked_;  // by pid: the file that the recorder removes when the dump is complete
};

// How long the driver may take to write the dumps of a run.
inline constexpr std::chrono::seconds kDumpPatience{60};

// Requests dumps of all processes whose pipe is in the folder, and waits for them, but at most kDumpPatience, and not after
// a signal to end.
void request_dump(const std::filesystem::path& folder, launch::SignalRelay& relay);
// Removes the files of requests, which are of no use once the processes have ended.
void remove_pipes(const std::filesystem::path& folder);

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
