// A place in the user's program. The text of its line is in `source` once the report has read it.
#pragma once

#include "symbolize/source_frame.h"

namespace cudadiag::diagnose {

using symbolize::Location;

// Both on one line, or in one function that has none.
bool same_line(const Location& a, const Location& b);

inline bool is_known(const Location& location) { return !location.file.empty() || !location.function.empty(); }

}  // namespace cudadiag::diagnose
