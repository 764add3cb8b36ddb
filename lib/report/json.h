// Writes the report as JSON, according to the contract "cudadiag.report/1", and the contract as a JSON Schema.
#pragma once

#include <string>

#include "diagnose/facts/model.h"

namespace cudadiag::report {

std::string write_json(const diagnose::Diagnosis& report);
std::string write_schema();

}  // namespace cudadiag::report
