// Chooses the Python lines where a rerun reads values. These are the innermost lines of user code that issued the
// candidates, and the lines of libraries that call into a framework.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::supervise {

// Returns the request to the hook, in the format of wire/rerun/values.h; empty if there are no lines. `seconds`: how
// long reading values may take. `save_limit`: how many bytes of the failing call may be saved; 0 to save none.
std::string suspect_lines(const session::Session& session, const analyse::Analysis& analysis, double seconds,
                          std::uint64_t save_limit);

// Like suspect_lines(), for both lines of each race that the first run found, and of each undecided pair.
std::string racing_lines(const session::Session& session, double seconds);

}  // namespace cudadiag::supervise
