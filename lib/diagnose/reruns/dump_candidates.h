// Uses the exception in a rerun's GPU core dump for a failure with several candidates: it names the kernel that failed.
#pragma once

#include <vector>

#include "analyse/analysis.h"
#include "symbolize/device_testimony.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// In each failure with several candidates, moves those to the front whose kernel the dump names. If the program
// launches that kernel at one line alone, only these remain, and are proven. Nothing changes if a rerun has proven a
// line, if it was another error, or if the kernel is that of no candidate.
void weigh_by_dump(std::vector<analyse::Failure>& failures, const symbolize::DeviceTestimony& testimony,
                   const session::Session& session, symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
