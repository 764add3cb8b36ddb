// The lines of Python from which a rerun takes values: the innermost ones of the user's code that issued the
// candidates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::command {

// wire/values.h; empty: there are none. `seconds`: what taking values may cost; `save_limit`: bytes of the failing call
// that may be saved, 0: it is not.
std::string suspect_lines(const session::Session& session, const analyse::Analysis& analysis, double seconds,
                          std::uint64_t save_limit);

}  // namespace cudadiag::command
