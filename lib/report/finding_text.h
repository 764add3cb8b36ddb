// Writes a finding as sections of a page.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"
#include "report/page.h"

namespace cudadiag::report {

// Returns a headline such as "illegal memory access (700) in train.py:41, forward". Shows paths inside `directory`
// relative to it.
std::string headline(const diagnose::Finding& finding, const std::string& directory);

// `ranks`: the report's lines about the job's ranks; empty to omit them. `rerun_follows`: a rerun will add facts that
// are still unknown.
void add_finding(Page& page, const diagnose::Finding& finding, const std::vector<std::string>& ranks,
                 const std::string& directory, bool verbose, bool rerun_follows);

}  // namespace cudadiag::report
