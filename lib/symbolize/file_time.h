// When files were written, to find those that may have changed since a process ran.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::symbolize {

// Returns seconds since the epoch; nullopt if the file is not a plain file.
std::optional<double> time_written(const std::string& file);

// Both return false if the file is missing, or if the time of the file or of the process is unknown.
bool written_since_start(const std::string& file, const session::ProcessRecord& record);
// Compares with the process's latest record.
bool written_since_end(const std::string& file, const session::ProcessRecord& record);

// Python records a script's name as the user typed it. This resolves it in the folder where the process ran.
std::string absolute_file(const std::string& file, const session::ProcessRecord& record);

// Returns the files of recorded code (Python's and modules) that changed after the run: they were written after the
// last process that used them had failed, or after its latest record. The names are those in the records.
std::vector<std::string> rewritten_files(const session::Session& session);

}  // namespace cudadiag::symbolize
