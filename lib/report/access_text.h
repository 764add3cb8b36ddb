// Describes the access that failed, as lines of a report.
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/model.h"

namespace cudadiag::report {

// Returns lines such as "load of 4 bytes at 0x7f5b61a00000 by block 2,0,0 thread 512,0,0; 32 threads, all past the same
// end". `verbose` adds the source of these facts.
std::vector<std::string> access_lines(const diagnose::Finding& finding, bool verbose);

}  // namespace cudadiag::report
