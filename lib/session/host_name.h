// Finds the host name of this machine, which shows whether a recorded process id is one of this machine.
#pragma once

#include <string>

namespace cudadiag::session {

// Returns "" if the name is unknown.
std::string host_name();

}  // namespace cudadiag::session
