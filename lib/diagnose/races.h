// Adds findings for races between streams, one for each pair of lines.
#pragma once

#include "diagnose/facts/model.h"
#include "diagnose/operation_memory.h"

namespace cudadiag::diagnose {

// Returns a description of how many pairs of kernels could not be checked for a race, and why; empty if all were
// checked. `settled` is the number of pairs that a rerun has since checked.
std::string unjudged_text(const session::Races& races, std::uint64_t settled = 0);

// See operation_memory.h for `resolve`.
void add_races(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
