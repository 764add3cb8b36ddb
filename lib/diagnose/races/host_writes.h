// The findings that copies are whose source the host changed before they had begun.
#pragma once

#include "diagnose/diagnosis.h"
#include "diagnose/operation_memory.h"

namespace cudadiag::diagnose {

// One for each line of a copy. `resolve` as in operation_memory.h.
void add_host_writes(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
