// Adds the findings of other tools (symbolize/device_testimony.h), labelled with the tool's name. If they differ from
// cudadiag's own, the report shows both.
#pragma once

#include <cstdint>
#include <string>

#include "diagnose/facts/model.h"
#include "symbolize/device_testimony.h"

namespace cudadiag::diagnose {

// Call this after add_device(), because facts from the core dump take precedence.
void add_external_findings(Diagnosis& report, const symbolize::DeviceTestimony& testimony);

// Returns true if memcheck may add facts to this finding, because a kernel that may have failed is known.
bool memcheck_may_help(const Finding& finding);

// Returns the outcome of the compute-sanitizer pass in a few words.
std::string outcome_of(const symbolize::SanitizerTestimony& testimony);

}  // namespace cudadiag::diagnose
