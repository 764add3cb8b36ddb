// The end of a foreign program that examined the files of a pass. Its output is in a file of the pass's folder.
#pragma once

#include <string>

#include "session/session.h"

namespace cudadiag::session {

// Returns why a program has no result: "time limit", "signal 6", "status 1"; empty if it ended well.
std::string how_it_failed(const ProcessEnd& end, const std::string& cut_short);

}  // namespace cudadiag::session
