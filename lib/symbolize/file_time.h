// When files were written, for what can have changed since a process ran.
#pragma once

#include <optional>
#include <string>

#include "session/process_record.h"

namespace cudadiag::symbolize {

// In seconds since the epoch; nothing where there is no such plain file.
std::optional<double> time_written(const std::string& file);

// Each false where the time of the file or of the process is not known, and where there is no such file.
bool written_since_start(const std::string& file, const session::ProcessRecord& record);
// After the last that was heard of the process.
bool written_since_end(const std::string& file, const session::ProcessRecord& record);

}  // namespace cudadiag::symbolize
