// Reads a run from another process: from the launcher's memory while the run is in progress, and from its session
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

// A run whose launcher was killed. The recording was in the launcher's memory, so it is lost. The program may still be
// running.
struct KilledRun {
  std::filesystem::path folder;
  session::LivePlace place;
};

class LiveRun {
 public:
  // `folder`: the folder of a session. If the session is incomplete and its launcher exists, reads the run from the
  // launcher's memory.
  static std::variant<LiveRun, KilledRun, base::Error> open(const std::filesystem::path& folder);

  base::Result<session::Session> read();
  // Adds the current Python stacks of live processes to `session`, which read() returned.
  void add_host_stacks(session::Session& session) const;
  // Returns whether, at the latest read(), the launcher of the run still existed or, if the run had no launcher, any of
  // its processes. Returns nullopt if unknown.
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
