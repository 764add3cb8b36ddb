// GPU core dumps that a rerun leaves: the variables that make the driver write one, requests for a dump of running
// kernels, and the files.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launch/environment.h"
#include "launch/signals.h"
#include "session/session.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Makes the driver print each step of writing a dump.
inline const launch::Variable kShowDumpProgress = {"CUDA_COREDUMP_SHOW_PROGRESS", "1"};

// Returns whether a rerun can be recorded and leave a dump too. It cannot if the preload library is missing or damaged,
// or if the user's environment has an injection library, or settings for core dumps. The dump then needs a rerun
// without the recorder, the device pass, because the driver writes no dumps while the process has a CUPTI subscriber.
bool can_dump_while_recorded();

// Returns variables that make the driver write a light dump into `folder`. The user's own settings for core dumps take
// precedence, except for the file's location if the rerun is isolated. `cuda` is the driver's version, such as "13.0".
std::vector<launch::Variable> dump_variables(const std::filesystem::path& folder, const std::string& cuda,
                                             bool isolated);

// TCP ports on which the driver listens, on all interfaces, while it writes a dump. The driver takes the first free
// port. If none is free, the driver retries forever (seen with driver 580.159.04 on an H200).
std::vector<std::uint16_t> core_dump_ports();

// Call this after the pass. Returns the name of the first dump written to `folder`; empty if there is none.
std::string find_dump(const std::filesystem::path& folder);
// Like find_dump(), for a pass without isolation. If the user's settings sent the dump to another folder, copies it
// from there. `since` is in nanoseconds since the epoch.
std::string collect_dump(const std::filesystem::path& folder, const std::filesystem::path& working_directory,
                         std::int64_t since);

// Removes dumps of more than 256 MB, and adds a note about each of them.
void drop_large_dumps(session::Session& session, session::SessionWriter& writer);

// Requests GPU core dumps of running kernels from the driver. The driver creates a pipe for each process. When someone
// writes to the pipe, the driver writes a dump and terminates the process, unless the recorder is in that process
// (wire/pass_files.h).
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

// Requests dumps of all processes whose pipe is in the folder, and waits for them, but at most kDumpPatience, and not
// after a signal to end.
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
