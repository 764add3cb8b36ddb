// Builds the failing access of a finding from the facts of a GPU core dump and the recorded allocations.
#pragma once

#include <vector>

#include "diagnose/facts/model.h"
#include "diagnose/operation_memory.h"
#include "diagnose/reruns/dump_access.h"
#include "symbolize/device_testimony.h"

namespace cudadiag::diagnose {

// `argument` is the recorded launch parameter from which the address was computed; null if unknown. `all_known`: every
// allocation of the recorded process is known, so an address outside all of them was never allocated.
Access joined(const DumpAccess& dump, const analyse::OperationArgument* argument, bool all_known);

// Sets the access of the finding whose `device` describes the failure in the dump. `failures` has one entry for each
// finding.
void add_access(Diagnosis& report, const symbolize::DeviceTestimony& testimony,
                const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
