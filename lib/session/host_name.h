// The name of this machine; process ids mean nothing on another one.
#pragma once

#include <string>

namespace cudadiag::session {

// Returns "" if the system does not tell it.
std::string host_name();

}  // namespace cudadiag::session
