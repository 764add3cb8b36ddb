// Finds out whether a recorded process is still alive, if the session has no launcher that knows.
#pragma once

#include <filesystem>
#include <optional>

#include "session/process_record.h"

namespace cudadiag::session {

// Returns nullopt if we cannot tell. `session` is the folder that contains the process's area. The process maps the
// area for as long as it records; a different process with the same pid does not.
std::optional<bool> lives(const std::filesystem::path& session, const ProcessRecord& record);

}  // namespace cudadiag::session
