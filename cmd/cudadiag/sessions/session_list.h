// The sessions as `cudadiag list` shows them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "session/session.h"
#include "sessions/session_summary.h"

namespace cudadiag::command {

enum class RunState { running, unfinished, finished };

struct ListedSession {
  std::size_t number = 0;  // from 1, newest first
  std::filesystem::path folder;
  long long age = 0;  // seconds since the run began
  RunState state = RunState::finished;
  session::ProcessEnd end;  // of the first run, if that has finished
  bool kept = false;
  SessionSummary found;
  std::vector<std::string> command;  // empty if there is a `why_no_command`
  std::string why_no_command;
};

// `folders` must be in the order of listed_in(); the result is in the same order.
std::vector<ListedSession> listed_sessions(const std::vector<std::filesystem::path>& folders);

// Returns a heading and a row for each session. Cuts rows at `columns`, the width of the terminal; nullopt: no limit.
std::string list_text(const std::vector<ListedSession>& sessions, std::optional<int> columns);

// The schema is "cudadiag.list/1".
std::string list_json(const std::vector<ListedSession>& sessions);

}  // namespace cudadiag::command
