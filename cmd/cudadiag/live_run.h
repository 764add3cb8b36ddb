// A run as another process sees it: while it goes on, by the memory that its launcher holds; else by its session.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "launch/arena.h"
#include "session/session.h"

namespace cudadiag::command {

class LiveRun {
 public:
  // Empty or "latest" means the newest run that is still going, else the newest session.
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

// The session that the user means. Where that is the latest, the newest may be one of which there is nothing to see: of
// a run that has not failed yet and goes on, or whose launcher was killed. Says so, and that this is an older one.
session::Result<std::filesystem::path> choose_session(const std::optional<std::string>& output,
                                                      const std::string& wanted);

}  // namespace cudadiag::command
