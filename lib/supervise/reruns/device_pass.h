// The device pass: a rerun in which the driver writes a GPU core dump when a kernel fails. It runs without the
// recorder, because the driver writes no dump while the process has a CUPTI subscriber.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/environment.h"
#include "session/session.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Whether the code is a device exception, which leaves a dump. Time-outs and hardware errors do not leave one.
bool leaves_a_dump(std::uint32_t code);

// Variables that make the driver write a light dump into `folder`. The user's own settings for core dumps take
// precedence, except for the dump's location if the rerun is isolated. `cuda` is the driver's version, such as "13.0".
std::vector<launch::Variable> dump_variables(const std::filesystem::path& folder, const std::string& cuda,
                                             bool isolated);

// TCP ports on which the driver listens, on all interfaces, while it writes a dump. It takes the first free port. If no
// port is free, it retries for ever (seen with driver 580.159.04 on an H200).
std::vector<std::uint16_t> core_dump_ports();

// After the pass: the name of the first dump written to `folder`; empty if there is none.
std::string find_dump(const std::filesystem::path& folder);
// Like find_dump(), for a pass that was not isolated. If the user's settings sent the dump to a different folder,
// copies it from there. `since` is in nanoseconds since the epoch.
std::string collect_dump(const std::filesystem::path& folder, const std::filesystem::path& working_directory,
                         std::int64_t since);

// Removes dumps of more than 256 MB from a session whose last report has been written, and notes this.
void drop_large_dumps(session::Session& session, session::SessionWriter& writer);

}  // namespace cudadiag::supervise
