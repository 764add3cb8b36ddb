// A run as another process sees it: from the launcher's memory while the run is in progress, and from its session
// afterwards.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "launch/arena.h"
#include "session/area/live_place.h"
#include "session/session.h"

namespace cudadiag::supervise {

// The run in this folder did not finish, because its launcher was killed. The launcher held the recording, so the
// recording is lost. The program may still be running.
struct KilledRun {
  std::filesystem::path folder;
  session::LivePlace place;
};

class LiveRun {
 public:
  // `folder` is a session's folder. If it is incomplete and has a launcher, the run is read from the launcher's memory.
  static std::variant<LiveRun, KilledRun, base::Error> open(const std::filesystem::path& folder);

  // Reads the current state.
  base::Result<session::Session> read();
  // Adds the current Python lines of the threads of live processes to the result of read().
  void add_host_stacks(session::Session& session) const;
  // Whether the launcher still exists or, if the run had no launcher, any of its processes. Updated by read(); nullopt
  // if unknown.
  std::optional<bool> goes_on() const { return goes_on_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  base::Result<session::Session> read_session();
  explicit LiveRun(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
  std::optional<launch::Arena> arena_;
  std::optional<bool> goes_on_ = false;
};

}  // namespace cudadiag::supervise
