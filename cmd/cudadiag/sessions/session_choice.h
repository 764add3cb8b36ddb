// Finds out which session or run the user means.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "supervise/live_run.h"

namespace cudadiag::command {

// Returns the session that the user means. If the newest session has nothing to show, because its run is in progress or
// its launcher was killed, prints a message and returns an older one.
base::Result<std::filesystem::path> choose_session(const std::optional<std::string>& output, const std::string& wanted);

// If `wanted` is empty or "latest", returns the newest run in progress or, if there is none, the newest session.
base::Result<supervise::LiveRun> choose_run(const std::optional<std::string>& output, const std::string& wanted);

}  // namespace cudadiag::command
