// The session or the run that the user means.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "supervise/live_run.h"

namespace cudadiag::command {

// The session that the user means. The newest one may have nothing to show, because its run is in progress or its
// launcher was killed. Then says so, and takes an older one.
base::Result<std::filesystem::path> choose_session(const std::optional<std::string>& output, const std::string& wanted);

// Empty or "latest" means the newest run that is still going, else the newest session.
base::Result<supervise::LiveRun> choose_run(const std::optional<std::string>& output, const std::string& wanted);

}  // namespace cudadiag::command
