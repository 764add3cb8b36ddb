// The findings that races between streams are: one for each pair of lines.
#pragma once

#include "diagnose/diagnosis.h"
#include "diagnose/operation_memory.h"

namespace cudadiag::diagnose {

// The shared memory that could not be judged, and why; empty: none. `settled`: pairs that a rerun judged.
std::string unjudged_text(const session::Races& races, std::uint64_t settled = 0);

// `resolve` as in operation_memory.h.
void add_races(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
