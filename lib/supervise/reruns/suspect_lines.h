// The lines of Python from which a rerun takes values: the innermost ones of the user's code that issued the
// candidates, and those of libraries below them that call into a framework.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::supervise {

// wire/rerun/values.h; empty: there are none. `seconds`: what taking values may cost; `save_limit`: bytes of the failing call
// that may be saved, 0: it is not.
std::string suspect_lines(const session::Session& session, const analyse::Analysis& analysis, double seconds,
                          std::uint64_t save_limit);

// The same for both lines of each race of the first run, and of each pair that could not be judged.
std::string racing_lines(const session::Session& session, double seconds);

}  // namespace cudadiag::supervise
