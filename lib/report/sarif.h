// The report as SARIF 2.1.0 (OASIS), which code scanning, review tools and editors read: one result a finding at its
// true line, the other lines as related locations, the whole stacks. Everything without a place in SARIF is in
// `properties`.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"

namespace cudadiag::report {

// `version`: the program's. Files in the target's working directory are relative to it (uriBaseId `SRCROOT`). The
// result is ASCII, and what the target could have put into a sentence is made harmless.
std::string write_sarif(const diagnose::Diagnosis& report, const std::string& version);

}  // namespace cudadiag::report
