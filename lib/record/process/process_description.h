// Describes the process in its area: command line, folder, host, rank and driver. The properties are listed in
// session::ProcessRecord.
#pragma once

#include "record/output/interner.h"

namespace cudadiag::record {

void describe_process(Interner& interner);

}  // namespace cudadiag::record
