// Adds findings for kernels that access bytes outside their allocations, even if nothing failed.
#pragma once

#include "diagnose/facts/model.h"
#include "diagnose/operation_memory.h"

namespace cudadiag::diagnose {

// Adds one finding for each line and kernel. See operation_memory.h for `resolve`.
void add_overruns(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
