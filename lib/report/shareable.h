// Reports that are made to be handed on: pages, SARIF for code scanning, bundles.
#pragma once

#include "report/report.h"

namespace cudadiag::report {

// Takes the secrets out of the command lines of the report.
Report without_secret_arguments(Report report);

}  // namespace cudadiag::report
