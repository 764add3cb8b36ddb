// Writes one finding as sections of a page.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"
#include "report/page.h"

namespace cudadiag::report {

// "illegal memory access (700) in train.py:41, forward". Paths inside `directory` are shown relative to it.
std::string headline(const diagnose::Finding& finding, const std::string& directory);

// `rerun_follows` is true if a rerun will add facts that are still unknown. `ranks` holds the report lines that
// describe the job's ranks; empty to leave them out.
void add_finding(Page& page, const diagnose::Finding& finding, const std::vector<std::string>& ranks,
                 const std::string& directory, bool verbose, bool rerun_follows);

}  // namespace cudadiag::report
