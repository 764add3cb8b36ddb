// The list of sessions that `cudadiag list` prints, with a cached summary of each.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/session.h"

namespace cudadiag::command {

// The summary of a session's finding for `cudadiag list`. It is cached in the session, because computing it means
// reading the whole recording.
struct SessionSummary {
  std::string kind;   // as in the JSON report, such as "async_error"; empty without a finding
  std::string title;  // "illegal memory access"
  int code = 0;       // the CUDA error code; 0 if none
  std::string file;   // the file of the true line; empty if unknown
  int line = 0;
  std::string function;
  std::string grade;   // "proven"
  std::string kernel;  // demangled; empty if no kernel failed
};

using ReadSession = std::function<const base::Result<session::Session>&()>;

// Returns the cached summary. Opens the session, computes the summary and stores it if the session has been rerun
// since, or if another build of cudadiag stored the summary. Returns an empty summary if the session cannot be read.
SessionSummary summary_of(const std::filesystem::path& folder, const ReadSession& open);

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

// Says which old sessions were removed. `removed` has the names that session::retain() returned for the folder `root`.
// Prints nothing if it is empty.
void print_removed(const std::vector<std::string>& removed, const std::filesystem::path& root);

}  // namespace cudadiag::command
