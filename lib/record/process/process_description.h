// Records the properties of the process: command line, folder, host, rank and driver. session::ProcessRecord lists them
// all.
#pragma once

#include "record/output/interner.h"

namespace cudadiag::record {

void describe_process(Interner& interner);

}  // namespace cudadiag::record
