// Writes the lines of a report about the origin of a bad value.
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/model.h"

namespace cudadiag::report {

std::vector<std::string> origin_lines(const diagnose::Origin& origin, const std::string& directory);

}  // namespace cudadiag::report
