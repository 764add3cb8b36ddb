// A location in the user's program. `source` has the text of its line once the report has read it.
#pragma once

#include "symbolize/source_frame.h"

namespace cudadiag::diagnose {

using symbolize::Location;

// Whether both are on the same line, or in the same function if the lines are unknown.
bool same_line(const Location& a, const Location& b);

inline bool is_known(const Location& location) { return !location.file.empty() || !location.function.empty(); }

}  // namespace cudadiag::diagnose
