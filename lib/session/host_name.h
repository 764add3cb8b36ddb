// Finds this machine's host name. A process id from a different machine means nothing here.
#pragma once

#include <string>

namespace cudadiag::session {

// Returns "" if the name is unknown.
std::string host_name();

}  // namespace cudadiag::session
