// Describes the process in its area: command line, folder, host, rank, driver (session::ProcessRecord's properties).
#pragma once

#include "record/output/interner.h"

namespace cudadiag::record {

void describe_process(Interner& interner);

}  // namespace cudadiag::record
