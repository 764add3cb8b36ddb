// What this machine is called: numbers of processes mean nothing on another one.
#pragma once

#include <string>

namespace cudadiag::session {

// Empty: the system does not tell it.
std::string host_name();

}  // namespace cudadiag::session
