// Writes the status of a run as text for people and as JSON for programs.
#pragma once

#include <optional>
#include <string>

#include "diagnose/status.h"
#include "report/text.h"

namespace cudadiag::report {

// Returns a state such as "running, initialised CUDA 62 s ago". `since_cuda`: see Status.
std::string state_text(std::optional<bool> goes_on, std::optional<double> seconds, bool since_cuda);
std::string write_status_text(const diagnose::Status& status, const TextOptions& options);
std::string write_status_json(const diagnose::Status& status);

}  // namespace cudadiag::report
