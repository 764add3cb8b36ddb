// The findings that kernels are which use bytes outside of their memory, although nothing failed.
#pragma once

#include "diagnose/diagnosis.h"
#include "diagnose/operation_memory.h"

namespace cudadiag::diagnose {

// One for each line and kernel. `resolve` as in operation_memory.h.
void add_overruns(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
