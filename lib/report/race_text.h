// Writes the lines of a race.
#pragma once

#include <string>

#include "diagnose/facts/report_model.h"
#include "report/text_layout.h"

namespace cudadiag::report {

// "race between two streams: train.py:41, after train.py:38". `paths`: with the paths of the files, and not only their
// names.
std::string race_headline(const diagnose::Finding& finding, const std::string& directory, bool paths = true);
// "x float32[1048576]: argument self of aten::add_ (written); argument self of aten::sum (read)", in one or two lines;
// empty if neither tensors nor operators are known.
Lines race_tensors(const diagnose::ResolvedRace& race);
// The bytes that both accesses use, one of the accesses with its stack, and the memory that they use.
Lines shared_bytes(const diagnose::ResolvedRace& race);
Lines racing_access_lines(const diagnose::ResolvedAccess& access, const std::string& directory, bool verbose);
Lines race_memory(const diagnose::ResolvedRace& race, const std::string& directory);

}  // namespace cudadiag::report
