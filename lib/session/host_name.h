// The name of this machine: process ids mean nothing on another one.
#pragma once

#include <string>

namespace cudadiag::session {

// Empty: the system does not give it.
std::string host_name();

}  // namespace cudadiag::session
