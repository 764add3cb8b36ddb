// Describes the process in its area: command line, folder, host, rank, driver (the properties of
// session::ProcessRecord).
#pragma once

#include "record/output/interner.h"

namespace cudadiag::record {

void describe_process(Interner& interner);

}  // namespace cudadiag::record
