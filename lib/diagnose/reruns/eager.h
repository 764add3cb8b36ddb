// Adds the line and the cause of a failure in compiled code, as found by reruns without torch.compile. Both are only
// `inferred`, because the compiled and the eager program differ.
#pragma once

#include <vector>

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
#include "diagnose/facts/model.h"

namespace cudadiag::diagnose {

// Adds the line, with role `eager`, to findings in compiled code. Also adds the cause, with the arguments that prove
// it, if the finding's own cause is less well proven. `failures` has one entry for each finding. Call this after
// add_causes().
void add_eager(Diagnosis& report, const EagerAnswer& eager, const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
