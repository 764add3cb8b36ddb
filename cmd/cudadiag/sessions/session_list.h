// The list of sessions that `cudadiag list` prints.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "session/session.h"
#include "sessions/session_summary.h"

namespace cudadiag::command {

// `ended`: the processes have ended, but no launcher saw how. `unfinished`: it is unknown whether they have.
enum class RunState { running, unfinished, ended, finished };

struct ListedSession {
  std::size_t number = 0;  // counts from 1, newest session first
  std::filesystem::path folder;
  long long age = 0;  // seconds since the run began or, without a launcher, since the latest recording
  RunState state = RunState::finished;
  session::ProcessEnd end;  // how the first run ended, if that is known
  bool kept = false;
  SessionSummary found;
  std::vector<std::string> command;  // empty if `why_no_command` is set
  std::string why_no_command;
};

// `folders` must be in the order of listed_in(). The result is in the same order.
std::vector<ListedSession> listed_sessions(const std::vector<std::filesystem::path>& folders);

// Returns a heading, and one row per session. Truncates rows to `columns`, the width of the terminal; nullopt: no
// limit.
std::string list_text(const std::vector<ListedSession>& sessions, std::optional<int> columns);

// The schema is "cudadiag.list/1".
std::string list_json(const std::vector<ListedSession>& sessions);

}  // namespace cudadiag::command
