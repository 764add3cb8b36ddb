// When files were written, for what can have changed since a process ran.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::symbolize {

// In seconds since the epoch; nothing if there is no such plain file.
std::optional<double> time_written(const std::string& file);

// Both are false if the time of the file or of the process is not known, or there is no such file.
bool written_since_start(const std::string& file, const session::ProcessRecord& record);
// After the latest record of the process.
bool written_since_end(const std::string& file, const session::ProcessRecord& record);

// Python keeps a script's name as it was typed: that is found in the folder that the process ran in.
std::string absolute_file(const std::string& file, const session::ProcessRecord& record);

// Files of recorded code, Python's and modules, that were written after the last process that had them failed, or was
// heard of: what runs now is something else. Named as the records name them.
std::vector<std::string> rewritten_files(const session::Session& session);

}  // namespace cudadiag::symbolize
