// Adds what reruns learnt from the GPU (symbolize/device_testimony.h) to the findings of the first run.
#pragma once

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
#include "symbolize/device_testimony.h"

namespace cudadiag::diagnose {

// The innermost line that is not in a header of CUDA's or of its libraries: the user called the function that they
// inlined. 0: all are.
std::size_t leading_line(const std::vector<symbolize::DeviceLine>& lines);

// Fills `device` of the finding that it fits, and `device_unknown` of the others; what fits none becomes a note.
// Kernels are compared by name: a dump from another run may be of another failure than the finding. `failures` are the
// findings', one each.
void add_device(Diagnosis& report, const symbolize::DeviceTestimony& testimony, const session::Session& session,
                const analyse::Analysis& analysis, const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
