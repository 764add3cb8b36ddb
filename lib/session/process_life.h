// Whether a recorded process still lives, if no launcher can be asked.
#pragma once

#include <filesystem>
#include <optional>

#include "session/process_record.h"

namespace cudadiag::session {

// Returns nullopt if that cannot be seen from here. `session` is the folder that contains the process's area. The
// process maps the area for as long as it records; another process with the same number does not.
std::optional<bool> lives(const std::filesystem::path& session, const ProcessRecord& record);

}  // namespace cudadiag::session
