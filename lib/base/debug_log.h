// A log for developers of cudadiag: which analyses ran, and how many times. CUDADIAG_DEBUG_LOG is the path of the log.
// If it is unset, no log is written. Several processes may share one log.
#pragma once

#include <string_view>

namespace cudadiag::base {

// Appends a line. Can be called on any thread. Ignores errors.
void debug_log(std::string_view line);

}  // namespace cudadiag::base
