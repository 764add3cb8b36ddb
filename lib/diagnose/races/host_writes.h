// Adds findings for copies whose source the host changed before the copy began.
#pragma once

#include "diagnose/facts/model.h"
#include "diagnose/operation_memory.h"

namespace cudadiag::diagnose {

// Adds one finding for each line that issues a copy whose source the host changed. See operation_memory.h for
// `resolve`.
void add_host_writes(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
