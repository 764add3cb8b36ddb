// Finds the session or run that the user refers to.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "supervise/recorded_processes.h"

namespace cudadiag::command {

// Whether an older session may stand in for the newest one, if the user gave no session.
enum class Older { allowed, refused };

// Returns the session that `wanted` refers to. The newest session has nothing to show if its run is in progress or its
// launcher was killed. In that case, prints a message and returns an older session, or returns an error.
base::Result<std::filesystem::path> choose_session(const std::optional<std::filesystem::path>& output,
                                                   const std::string& wanted, Older older = Older::allowed);

// Returns whether a command that names no session uses this one.
bool is_latest(const std::filesystem::path& folder, const std::optional<std::filesystem::path>& output);

// If `wanted` is empty or "latest", returns the newest run in progress or, if there is none, the newest session.
base::Result<supervise::LiveRun> choose_run(const std::optional<std::filesystem::path>& output,
                                            const std::string& wanted);

}  // namespace cudadiag::command
