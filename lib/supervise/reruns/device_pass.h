// The device pass: a rerun in which the driver writes a GPU core dump when a kernel fails. The recorder stays out of
// it: with a CUPTI subscriber in the process the driver writes none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/environment.h"
#include "session/session.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Device exceptions, which leave a dump; time-outs and hardware errors do not.
bool leaves_a_dump(std::uint32_t code);

// Variables that make the driver write a light dump into `folder`. The user's own settings for core dumps take
// precedence, but for the place of the dump if the rerun is isolated. `cuda`: the driver's version, "13.0".
std::vector<launch::Variable> dump_variables(const std::filesystem::path& folder, const std::string& cuda,
                                             bool isolated);

// TCP ports on which the driver listens while it writes a dump. It takes the first free one, and tries for ever where it
// gets none (seen with driver 580.159.04 on an H200, on all interfaces).
std::vector<std::uint16_t> core_dump_ports();

// After the pass: the name in `folder` of the first dump that was written there; empty if there is none.
std::string find_dump(const std::filesystem::path& folder);
// Likewise, of one that was not isolated: or where the user's own settings had it written, from where it is copied.
// `since` in nanoseconds of the epoch.
std::string collect_dump(const std::filesystem::path& folder, const std::filesystem::path& working_directory,
                         std::int64_t since);

// Removes dumps of more than 256 MB from a session whose last report has been made, and notes that.
void drop_large_dumps(session::Session& session, session::SessionWriter& writer);

}  // namespace cudadiag::supervise
