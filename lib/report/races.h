// The findings that races between streams are: one for each pair of lines.
#pragma once

#include "report/operation_memory.h"
#include "report/report.h"

namespace cudadiag::report {

// The shared memory that could not be judged, and why; empty: none. `settled`: pairs that a rerun judged.
std::string unjudged_text(const session::Races& races, std::uint64_t settled = 0);

// `resolve` as in operation_memory.h.
void add_races(Report& report, const session::Session& session, const ResolveSite& resolve);

}  // namespace cudadiag::report
