// One finding as sections of a page.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"
#include "report/page.h"

namespace cudadiag::report {

// "illegal memory access (700) in train.py:41, forward"; `directory` is what paths are shown relative to.
std::string headline(const diagnose::Finding& finding, const std::string& directory);

// `rerun_follows`: what only a rerun shows is not known yet. `ranks`: of its job, if they are to be shown.
void add_finding(Page& page, const diagnose::Finding& finding, const std::vector<std::string>& ranks,
                 const std::string& directory, bool verbose, bool rerun_follows);

}  // namespace cudadiag::report
