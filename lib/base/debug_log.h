// A log for people who change cudadiag: its analyses, and how often they were made. CUDADIAG_DEBUG_LOG names the file;
// without it nothing is written. Several processes may share one file.
#pragma once

#include <string_view>

namespace cudadiag::base {

// Appends a line. Safe on every thread. A file that cannot be written is ignored.
void debug_log(std::string_view line);

}  // namespace cudadiag::base
