// Finds the session or run that the user refers to, and diagnoses it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "diagnose/facts/report_model.h"
#include "session/session.h"
#include "supervise/recorded_processes.h"

namespace cudadiag::command {

// Returns the session that `wanted` refers to. The newest session has nothing to show if its run is in progress or its
// launcher was killed. In that case, prints a message and returns an older session. Like the functions below, throws a
// base::Error if there is none. `newest_for`: the subcommand that accepts only the newest session, unless the user
// names one; null: it accepts an older one too.
std::filesystem::path choose_session(const std::optional<std::filesystem::path>& output, const std::string& wanted,
                                     const char* newest_for = nullptr);

// Returns whether a command that names no session uses this one.
bool is_latest(const std::filesystem::path& folder, const std::optional<std::filesystem::path>& output);

// If `wanted` is empty or "latest", returns the newest run in progress or, if there is none, the newest session.
supervise::LiveRun choose_run(const std::optional<std::filesystem::path>& output, const std::string& wanted);

// Returns the diagnosis of a session. If the session may belong to another user, the diagnosis omits source lines and
// says why. `trusted`: show source lines in any case.
diagnose::Diagnosis examine_found(const session::Session& session, bool trusted);

}  // namespace cudadiag::command
