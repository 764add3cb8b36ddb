// Writes the report as SARIF 2.1.0 (OASIS) for code scanning, review tools and editors. Each finding is one result at
// its true line, with its other lines as related locations, and with its whole stacks. Facts for which SARIF has no
// member are in `properties`.
#pragma once

#include <string>

#include "diagnose/facts/model.h"

namespace cudadiag::report {

// `version` is cudadiag's version. Paths of files in the target's working directory are relative to it (uriBaseId
// `SRCROOT`). The result is ASCII, and text from the target is made printable.
std::string write_sarif(const diagnose::Diagnosis& report, const std::string& version);

}  // namespace cudadiag::report
