// Finds out whether a recorded process is still alive, for a session without a launcher.
#pragma once

#include <filesystem>
#include <optional>

#include "session/process_record.h"

namespace cudadiag::session {

// Returns whether the process is alive. `session` is the folder that contains the process's area. A process maps its
// area for as long as it records. A different process with the same pid does not map that area.
std::optional<bool> lives(const std::filesystem::path& session, const ProcessRecord& record);

}  // namespace cudadiag::session
