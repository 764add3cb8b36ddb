// Writes the arguments of a failing operation, one line for each.
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/model.h"

namespace cudadiag::report {

// Returns a line such as "idx int64 [8,512] cuda:0, min 0, max 30050, 3 too large".
std::string argument_line(const diagnose::Argument& argument, const std::string& directory);

// Returns at most three arguments that prove the cause. If `verbose`, returns all arguments, the proving ones first.
std::vector<std::string> argument_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose);

}  // namespace cudadiag::report
