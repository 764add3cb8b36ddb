// Finds the name of this machine, because process ids mean nothing on a different machine.
#pragma once

#include <string>

namespace cudadiag::session {

// Returns "" if the name is unknown.
std::string host_name();

}  // namespace cudadiag::session
