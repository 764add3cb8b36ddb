// Names for a failed kernel's parameters, from its source where that is as it was.
#pragma once

#include <vector>

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"

namespace cudadiag::diagnose {

// `failures`: in the order of the findings.
void name_parameters(Diagnosis& report, const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
