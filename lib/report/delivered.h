// The values that Python code of ours took in the rerun that confirmed a failure, joined to its finding.
#pragma once

#include "analyse/analysis.h"
#include "report/report.h"

namespace cudadiag::report {

// Of the failing operator's own arguments where they are known, else of the variables that its line names.
void add_delivered(Finding& finding, const analyse::Failure& failure);

}  // namespace cudadiag::report
