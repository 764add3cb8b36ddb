// Groups the findings of processes that failed in the same way, such as the ranks of a job. A group has one article.
#pragma once

#include <cstddef>
#include <vector>

#include "diagnose/diagnosis.h"

namespace cudadiag::report {

// Returns the indices of the findings of each group, in the order of the report. Races are never grouped.
std::vector<std::vector<std::size_t>> groups_of_findings(const diagnose::Diagnosis& report);

}  // namespace cudadiag::report
