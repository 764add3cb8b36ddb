// When files were written, to find what may have changed since a process ran.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::symbolize {

// Returns seconds since the epoch; nullopt if it is not a plain file.
std::optional<double> time_written(const std::string& file);

// Both return false if the time of the file or of the process is unknown, or the file is missing.
bool written_since_start(const std::string& file, const session::ProcessRecord& record);
// Compares with the process's latest record.
bool written_since_end(const std::string& file, const session::ProcessRecord& record);

// Python keeps a script's name as typed; this resolves it in the folder that the process ran in.
std::string absolute_file(const std::string& file, const session::ProcessRecord& record);

// Returns files of recorded code (Python's and modules) that changed after the run. They were written after the last
// process that used them had failed or had last been heard of. Their names are as in the records.
std::vector<std::string> rewritten_files(const session::Session& session);

}  // namespace cudadiag::symbolize
