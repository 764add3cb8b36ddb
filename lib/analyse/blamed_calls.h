// Finds earlier failed calls that may be the reason for a failure, such as an allocation whose error nothing checked.
#pragma once

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Returns the earlier failed call that may have made `failed` fail, such as an allocation. This is the earliest failed
// call with no operation of the thread between it and `failed`. If there is none, and `failed` is a launch without a
// kernel, returns the latest call that failed to load a kernel. A failed look-up counts only if `failed` received an
// invalid handle, because look-ups are usually probes.
const session::FailedCall* swallowed_before(const session::FailedCall& failed, const session::ProcessRecord& record);

// If an operation that failed asynchronously received a null pointer, sets `swallowed` to the failed allocation that
// may have left this pointer.
void recall_failed_allocation(Failure& failure);

}  // namespace cudadiag::analyse
