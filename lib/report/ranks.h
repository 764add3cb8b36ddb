// Where the ranks of a job part, resolved and worded.
#pragma once

#include <string>
#include <vector>

#include "explain/symptoms.h"
#include "report/report.h"

namespace cudadiag::report {

// `report` has its notes: that of the ranks, where there is one, is told with their lines.
void add_ranks(Report& report, const session::Session& session, const analyse::Analysis& analysis,
               symbolize::Symbolizer& symbolizer);

// One line for ranks of which the same is to be said.
std::vector<std::string> rank_lines(const RanksPart& part, const std::string& directory);

// For the rules of a hang in a collective.
void add_ranks(explain::Symptoms& symptoms, const RanksPart& part, const std::string& directory);

}  // namespace cudadiag::report
