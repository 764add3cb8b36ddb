// Adds the findings of other tools (symbolize/device_testimony.h). They are labelled with the tool's name, and shown
// next to cudadiag's own if the two differ.
#pragma once

#include <cstdint>
#include <string>

#include "diagnose/diagnosis.h"
#include "symbolize/device_testimony.h"

namespace cudadiag::diagnose {

// Call this after add_device(): it does not replace facts of the core dump.
void add_external_findings(Diagnosis& report, const symbolize::DeviceTestimony& testimony);

// Whether memcheck can add to this finding: at least one kernel that may have failed is known.
bool memcheck_may_help(const Finding& finding);

// The outcome of the compute-sanitizer pass in a few words.
std::string outcome_of(const symbolize::SanitizerTestimony& testimony);

}  // namespace cudadiag::diagnose
