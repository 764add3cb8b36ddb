// The outcome of an external program that examined the files of a pass. The program's output is in a file in the pass
// folder.
#pragma once

#include <string>

#include "session/session.h"

namespace cudadiag::session {

// Returns why a program has no result: "time limit", "signal 6", "status 1".
std::string how_it_failed(const ProcessEnd& end, const std::string& cut_short);

}  // namespace cudadiag::session
