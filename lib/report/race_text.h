// Writes a race between streams.
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/model.h"
#include "report/page.h"

namespace cudadiag::report {

// Returns a headline such as "race between two streams: train.py:41, after train.py:38". `paths`: with the paths of the
// files, and not only their names.
std::string race_headline(const diagnose::Finding& finding, const std::string& directory, bool paths = true);
// Returns text such as "x float32[1048576]: argument self of aten::add_ (written); argument self of aten::sum (read)",
// in one or two lines; empty if neither tensors nor operators are known.
std::vector<std::string> race_tensors(const diagnose::ResolvedRace& race);
void add_race(Page& page, const diagnose::Finding& finding, const std::string& directory, bool verbose);

}  // namespace cudadiag::report
