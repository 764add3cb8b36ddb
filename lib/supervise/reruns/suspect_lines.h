// The Python lines at which a rerun reads values. They are the innermost lines of the user's code that issued the
// candidates, and lines of libraries below them that call into a framework.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::supervise {

// Returns the text of wire/rerun/values.h; empty if there are no lines. Reading values may take `seconds`. `save_limit`
// is how many bytes of the failing call may be saved; 0 to save none.
std::string suspect_lines(const session::Session& session, const analyse::Analysis& analysis, double seconds,
                          std::uint64_t save_limit);

// Like suspect_lines(), for both lines of each race in the first run, and of each undecided pair.
std::string racing_lines(const session::Session& session, double seconds);

}  // namespace cudadiag::supervise
