// The report as JSON, contract "cudadiag.report/1" (report.schema.json beside this file).
#pragma once

#include <string>

#include "report/report.h"

namespace cudadiag::report {

std::string write_json(const Report& report);

}  // namespace cudadiag::report
