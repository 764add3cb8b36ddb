// Finds a process's last operation with a known line.
#pragma once

#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Returns the newest operation with a known line; null if none of the latest operations has one.
const session::Operation* latest_of_a_line(const session::Process& process, symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
