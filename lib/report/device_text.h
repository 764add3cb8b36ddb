// Writes the evidence from the GPU as lines of a report.
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/model.h"

namespace cudadiag::report {

// The first line gives the location and the threads. The next lines give the message, and how the dump matches the
// first run. `verbose` adds the calls through which the line was inlined.
std::vector<std::string> device_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose);

}  // namespace cudadiag::report
