// When files were written, for what can have changed since a process ran.
#pragma once

#include <string>

#include "session/process_record.h"

namespace cudadiag::symbolize {

// Each false where the time of the file or of the process is not known, and where there is no such file.
bool written_since_start(const std::string& file, const session::ProcessRecord& record);
// After the last that was heard of the process.
bool written_since_end(const std::string& file, const session::ProcessRecord& record);

}  // namespace cudadiag::symbolize
