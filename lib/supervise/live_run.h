// A run as another process sees it: while it is in progress, in the memory that its launcher holds; afterwards in its
// session.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "launch/arena.h"
#include "session/area/live_place.h"
#include "session/session.h"

namespace cudadiag::supervise {

// The run of this folder was not finished, because its launcher was killed. The recording is lost with the launcher
// that holds it; the program may continue.
struct KilledRun {
  std::filesystem::path folder;
  session::LivePlace place;
};

class LiveRun {
 public:
  // `folder`: of a run, or of a session.
  static std::variant<LiveRun, KilledRun, base::Error> open(const std::filesystem::path& folder);

  // As it is now.
  base::Result<session::Session> read();
  // Adds where the Python threads of living processes are, to what read() has just returned.
  void add_host_stacks(session::Session& session) const;
  // Its launcher is still there, or a process if there is no launcher; asked anew at each read(). Nothing: not known.
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
