// Finds the session or run that the user means.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "supervise/live_run.h"

namespace cudadiag::command {

// Returns the session that the user means. The newest session may have nothing to show, because its run is in progress
// or its launcher was killed. In that case, prints a message and returns an older one.
base::Result<std::filesystem::path> choose_session(const std::optional<std::string>& output, const std::string& wanted);

// If `wanted` is empty or "latest", returns the newest run in progress, or else the newest session.
base::Result<supervise::LiveRun> choose_run(const std::optional<std::string>& output, const std::string& wanted);

}  // namespace cudadiag::command
