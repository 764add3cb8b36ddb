// Names a failed kernel's parameters. The names come from its source, if that is unchanged, and from the variables that
// a rerun saw at the line of the call.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/model.h"

namespace cudadiag::diagnose {

// Returns the variable at the line of the call whose tensor begins where this parameter points; empty unless there is
// exactly one.
std::string passed_variable(const std::vector<Argument>& arguments, const Argument& parameter);

// `failures` has one entry for each finding, in the same order.
void name_parameters(Diagnosis& report, const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
