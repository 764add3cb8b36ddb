// A run as another process sees it: while it goes on, by the memory that its launcher holds; else by its session.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/arena.h"
#include "session/session.h"
#include "session/session_folders.h"

namespace cudadiag::command {

class LiveRun {
 public:
  // Nothing or "latest" means the newest that goes on, else the newest session.
  static session::Result<LiveRun> open(const std::optional<std::string>& output, const std::string& wanted);

  // As it is now.
  session::Result<session::Session> read();
  // Its launcher is still there, or where it has none a process; asked anew at each read(). Nothing: not known.
  std::optional<bool> goes_on() const { return goes_on_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  session::Result<session::Session> read_session();
  explicit LiveRun(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
  std::optional<launch::Arena> arena_;
  std::optional<bool> goes_on_ = false;
};

// The newest session may be one of which there is nothing to see: of a run that has not failed yet and goes on, or
// whose launcher was killed. Says so, and that `shown` is an older one.
void tell_newer_run(const std::vector<session::Root>& roots, const session::Result<std::filesystem::path>& shown);

}  // namespace cudadiag::command
