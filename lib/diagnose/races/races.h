// Adds findings for races between streams, one for each pair of lines.
#pragma once

#include "diagnose/diagnosis.h"
#include "diagnose/operation_memory.h"

namespace cudadiag::diagnose {

// Says how many pairs of kernels are undecided, and why; empty if none is. `settled`: how many pairs a rerun decided.
std::string unjudged_text(const session::Races& races, std::uint64_t settled = 0);

// See operation_memory.h for `resolve`.
void add_races(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
