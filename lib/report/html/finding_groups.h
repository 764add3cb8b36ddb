// Groups the findings of processes that failed in the same way, such as the ranks of a job. Each group gets one
// article.
#pragma once

#include <cstddef>
#include <vector>

#include "diagnose/facts/model.h"

namespace cudadiag::report {

// Returns for each group the indices of its findings. Groups are in the order of the report. Each race is a group of
// its own.
std::vector<std::vector<std::size_t>> groups_of_findings(const diagnose::Diagnosis& report);

}  // namespace cudadiag::report
