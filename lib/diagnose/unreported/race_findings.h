// Adds findings for races between the streams of a process.
#pragma once

#include <cstdint>
#include <string>

#include "diagnose/facts/report_model.h"
#include "diagnose/line_resolver.h"
#include "session/session.h"

namespace cudadiag::diagnose {

// Returns a description of how many pairs of kernels could not be checked for a race, and why; empty if all were
// checked. `settled` is the number of pairs that a rerun has since checked.
std::string unjudged_text(const session::Races& races, std::uint64_t settled = 0);
// Says how many kernels were not checked for races between their own threads; empty if all were.
std::string unchecked_text(const session::Races& races);

// Adds findings for races between streams, one for each pair of lines.
void add_races(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
