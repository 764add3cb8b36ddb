// Writes the report as JSON, according to the contract "cudadiag.report/1" (report.schema.json in this folder).
#pragma once

#include <string>

#include "diagnose/facts/model.h"

namespace cudadiag::report {

std::string write_json(const diagnose::Diagnosis& report);

}  // namespace cudadiag::report
