// Adds the findings of other programs (symbolize/device_testimony.h): labelled as theirs, and beside our own
// measurements if they differ.
#pragma once

#include <cstdint>
#include <string>

#include "diagnose/diagnosis.h"
#include "symbolize/device_testimony.h"

namespace cudadiag::diagnose {

// Call it after add_device(): facts of the core dump are not replaced.
void add_external_findings(Diagnosis& report, const symbolize::DeviceTestimony& testimony);

// Whether memcheck can add to this finding: some kernel is known that can have failed.
bool memcheck_may_help(const Finding& finding);

// The outcome of the pass, in a few words.
std::string outcome_of(const symbolize::SanitizerTestimony& testimony);

}  // namespace cudadiag::diagnose
