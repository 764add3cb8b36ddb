// Finds files that were written after a process started or ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::symbolize {

// Returns seconds since the epoch.
std::optional<double> time_written(const std::string& file);

// Both functions return false if the file is missing, or if the process's time is unknown.
bool written_since_start(const std::string& file, const session::ProcessRecord& record);
// A process counts as ended at the time of its latest record.
bool written_since_end(const std::string& file, const session::ProcessRecord& record);

// Resolves `file` in the process's working directory, because Python records a script's name as the user typed it.
std::string absolute_file(const std::string& file, const session::ProcessRecord& record);

// Returns the recorded Python files and modules that were written after the run. For each file, the run ends when the
// last process that used the file failed or, without a failure, wrote its latest record. Returns names as recorded.
std::vector<std::string> rewritten_files(const session::Session& session);

}  // namespace cudadiag::symbolize
