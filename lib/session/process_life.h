// Finds out whether a recorded process is still alive, for a session without a launcher.
#pragma once

#include <filesystem>
#include <optional>

#include "session/process_record.h"

namespace cudadiag::session {

// Returns nullopt if this is unknown. `session` is the folder that contains the process's area. The process maps the
// area for as long as it records. A different process with the same pid does not.
std::optional<bool> lives(const std::filesystem::path& session, const ProcessRecord& record);

}  // namespace cudadiag::session
