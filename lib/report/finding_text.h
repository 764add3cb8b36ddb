// Writes a finding as sections of a page.
#pragma once

#include <string>

#include "diagnose/facts/model.h"
#include "report/page.h"

namespace cudadiag::report {

// Returns a headline such as "illegal memory access (700) in train.py:41, forward". Shows paths inside `directory`
// relative to it.
std::string headline(const diagnose::Finding& finding, const std::string& directory);

// Returns the title of a hang that the user interrupted, such as "interrupted while smooth (demo.cc:86) had been
// running for 6.2 s".
std::string interruption(const diagnose::Finding& finding, const std::string& place);

// `ranks`: the report's lines about the job's ranks; empty to omit them.
void add_finding(Page& page, const diagnose::Finding& finding, const std::vector<std::string>& ranks,
                 const std::string& directory, bool verbose);

}  // namespace cudadiag::report
