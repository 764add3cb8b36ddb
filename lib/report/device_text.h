// The evidence from the GPU itself, as lines of a report.
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnosis.h"

namespace cudadiag::report {

// The place and threads first; then, each on a line of its own, the message and how the dump fits the first run.
// `verbose` adds the calls that were inlined around the line.
std::vector<std::string> device_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose);

}  // namespace cudadiag::report
