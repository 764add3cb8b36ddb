// Where a process last worked.
#pragma once

#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// The newest operation of it that leads to a line; null: none of the latest does.
const session::Operation* latest_of_a_line(const session::Process& process, symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
