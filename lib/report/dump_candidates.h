// What the exception of a rerun's GPU core dump says of a failure that has several candidates: in whose kernel it was.
#pragma once

#include <vector>

#include "analyse/analysis.h"
#include "symbolize/device_testimony.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::report {

// Of each failure for which several candidates are left, those come first whose kernel it was. Where the program
// launches that kernel at one line alone, they are all that is left, and proven. Nothing changes where a rerun has
// proven a line, where it was another error, or the kernel of no candidate. The report alone knows of it: reruns that
// come later are for the candidates as they were.
void weigh_by_dump(std::vector<analyse::Failure>& failures, const symbolize::DeviceTestimony& testimony,
                   const session::Session& session, symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::report
