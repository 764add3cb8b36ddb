// A race between streams as text.
#pragma once

#include <string>

#include "report/page.h"
#include "report/report.h"

namespace cudadiag::report {

// "race between two streams: train.py:41, and train.py:38 before it"
std::string race_headline(const Finding& finding, const std::string& directory);
void add_race(Page& page, const Finding& finding, const std::string& directory, bool verbose);

}  // namespace cudadiag::report
