// Finds this machine's host name. A process id from a different machine means nothing here.
#pragma once

#include <string>

namespace cudadiag::session {

std::string host_name();

}  // namespace cudadiag::session
