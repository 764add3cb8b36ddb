// The lines of Python from which a rerun takes values: the innermost ones of the user's code that issued the
// candidates.
#pragma once

#include <string>

#include "analyse/analysis.h"

namespace cudadiag::command {

// wire/values.h; empty: there are none. `seconds`: what taking values may cost.
std::string suspect_lines(const session::Session& session, const analyse::Analysis& analysis, double seconds);

}  // namespace cudadiag::command
