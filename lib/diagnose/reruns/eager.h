// The evidence of reruns without torch.compile about a failure in compiled code: the line, and the cause. It is
// inferred, because the two programs are not the same.
#pragma once

#include <vector>

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
#include "diagnose/known.h"

namespace cudadiag::diagnose {

// Adds to the findings in compiled code the line, with the role eager, and the cause with the arguments that prove it,
// if their own cause has fewer. `failures` are the findings', one each; their causes are known.
void add_eager(Diagnosis& report, const EagerAnswer& eager, const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
