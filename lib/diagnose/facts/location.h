// A location in the user's program. Its `source` is the text of the line, if the report has read it.
#pragma once

#include "symbolize/source_frame.h"

namespace cudadiag::diagnose {

using symbolize::Location;

// Returns true if both locations are on the same line or, if the lines are unknown, in the same function.
bool same_line(const Location& a, const Location& b);

inline bool is_known(const Location& location) { return !location.file.empty() || !location.function.empty(); }

}  // namespace cudadiag::diagnose
