// Prepares reports for other people: pages, SARIF for code scanning, bundles.
#pragma once

#include "diagnose/diagnosis.h"

namespace cudadiag::report {

// Removes secrets from the command lines of the report.
diagnose::Diagnosis without_secret_arguments(diagnose::Diagnosis report);

}  // namespace cudadiag::report
