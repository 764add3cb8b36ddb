// Whether a recorded process still lives, if no launcher can be asked.
#pragma once

#include <filesystem>
#include <optional>

#include "session/process_record.h"

namespace cudadiag::session {

// Nothing: that cannot be seen from here. `session` is the folder that holds the process's area, which the process maps
// for as long as it records: another process of the same number does not.
std::optional<bool> lives(const std::filesystem::path& session, const ProcessRecord& record);

}  // namespace cudadiag::session
