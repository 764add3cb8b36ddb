// The device pass: a rerun in which the driver writes a GPU core dump when a kernel fails. It runs without the
// recorder, because the driver writes no dumps while the process has a CUPTI subscriber.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/environment.h"
#include "session/session.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Makes the driver print each step of writing a dump.
inline const launch::Variable kShowDumpProgress = {"CUDA_COREDUMP_SHOW_PROGRESS", "1"};

// Returns whether a rerun can be recorded and leave a dump too. It cannot if the preload library is missing or damaged, or
// if the user's environment has an injection library, or settings for core dumps.
bool can_dump_while_recorded();

// Returns variables that make the driver write a light dump into `folder`. The user's own settings for core dumps take
// precedence, except for the file's location if the rerun is isolated. `cuda` is the driver's version, such as "13.0".
std::vector<launch::Variable> dump_variables(const std::filesystem::path& folder, const std::string& cuda,
                                             bool isolated);

// TCP ports on which the driver listens, on all interfaces, while it writes a dump. The driver takes the first free
// port. If none is free, the driver retries forever (seen with driver 580.159.04 on an H200).
std::vector<std::uint16_t> core_dump_ports();

// Call this after the pass. Returns the name of the first dump written to `folder`; empty if there is none.
std::string find_dump(const std::filesystem::path& folder);
// Like find_dump(), for a pass without isolation. If the user's settings sent the dump to another folder, copies it
// from there. `since` is in nanoseconds since the epoch.
std::string collect_dump(const std::filesystem::path& folder, const std::filesystem::path& working_directory,
                         std::int64_t since);

// Removes dumps of more than 256 MB, and adds a note about each of them.
void drop_large_dumps(session::Session& session, session::SessionWriter& writer);

}  // namespace cudadiag::supervise
