// Writes the status of a run, for people and for programs.
#pragma once

#include <string>

#include "diagnose/status.h"
#include "report/text.h"

namespace cudadiag::report {

std::string write_status_text(const diagnose::Status& status, const TextOptions& options);
std::string write_status_json(const diagnose::Status& status);

}  // namespace cudadiag::report
