// Adds the evidence from the GPU that reruns collected (symbolize/device_testimony.h) to the findings of the first run.
#pragma once

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
#include "symbolize/device_testimony.h"

namespace cudadiag::diagnose {

// Index of the innermost line outside the headers of CUDA and its libraries, whose functions are inlined into user
// code. Returns 0 if all lines are in such headers.
std::size_t leading_line(const std::vector<symbolize::DeviceLine>& lines);

// Sets `device` of the finding that the evidence matches, and `device_unknown` of the others. Evidence that matches no
// finding becomes a note. Kernels are compared by name, because a dump from another run may show a different failure.
// `failures` has one entry for each finding.
void add_device(Diagnosis& report, const symbolize::DeviceTestimony& testimony, const session::Session& session,
                const analyse::Analysis& analysis, const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
