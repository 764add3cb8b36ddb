// Writes the arguments of a failing operation, one line for each.
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnosis.h"

namespace cudadiag::report {

// Returns a line such as "idx int64 [8,512] cuda:0, min 0, max 30050, 3 too large".
std::string argument_line(const diagnose::Argument& argument, const std::string& directory);

// Returns the arguments that prove the cause, at most three. If `verbose`, returns all arguments, with these first.
std::vector<std::string> argument_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose);

}  // namespace cudadiag::report
