// Names a failed kernel's parameters, from its source if that is unchanged, and from the variables that a rerun saw at
// the line of the call.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"

namespace cudadiag::diagnose {

// The variable at the line of the call whose tensor begins where this parameter points; empty unless there is exactly
// one.
std::string passed_variable(const std::vector<Argument>& arguments, const Argument& parameter);

// `failures` are in the order of the findings.
void name_parameters(Diagnosis& report, const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
