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
  // Nothing or "latest" means the newest that goes on, else the newest session.
  static session::Result<LiveRun> open(const std::optional<std::string>& output, const std::string& wanted);

  // As it is now.
  session::Result<session::Session> read();
  // Its launcher is still there; asked anew at each read().
  bool goes_on() const { return goes_on_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  explicit LiveRun(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
  std::optional<launch::Arena> arena_;
  bool goes_on_ = false;
};

}  // namespace cudadiag::command
