// Prepares reports that other people will see: pages, SARIF for code scanning, bundles.
#pragma once

#include "diagnose/facts/model.h"

namespace cudadiag::report {

// Removes secrets from the command lines in the report.
diagnose::Diagnosis without_secret_arguments(diagnose::Diagnosis report);

}  // namespace cudadiag::report
