// The failing access of a finding: the facts of a GPU core dump, joined with the memory that the recording knows.
#pragma once

#include <vector>

#include "diagnose/diagnosis.h"
#include "diagnose/operation_memory.h"
#include "diagnose/reruns/dump_access.h"
#include "symbolize/device_testimony.h"

namespace cudadiag::diagnose {

// `argument`: the recorded launch parameter from which the address was computed; null if not known.
// `all_known`: every allocation of the recorded process is, so that "in none" can be said.
Access joined(const DumpAccess& dump, const analyse::OperationArgument* argument, bool all_known);

// For the finding that has the dump's failure as its `device`. `failures` are the findings', one each.
void add_access(Diagnosis& report, const symbolize::DeviceTestimony& testimony,
                const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
