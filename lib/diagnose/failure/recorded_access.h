// Finds where the access of a GPU core dump, or of a replayed launch, lies in the memory that was recorded.
#pragma once

#include <vector>

#include "analyse/analysis.h"
#include "analyse/operation_arguments.h"
#include "diagnose/facts/report_model.h"
#include "diagnose/failure/dump_access.h"
#include "diagnose/line_resolver.h"
#include "session/session.h"
#include "symbolize/tool_results.h"

namespace cudadiag::diagnose {

// `argument` is the recorded launch parameter from which the address was computed; null if unknown. `all_known`: every
// allocation of the recorded process is known, so an address outside all of them was never allocated.
Access recorded_access(const DumpAccess& dump, const analyse::OperationArgument* argument, bool all_known);

// Sets the access of the finding whose `device` describes the failure in the dump. `failures` has one entry for each
// finding.
void add_access(Diagnosis& report, const std::vector<const analyse::Failure*>& failures,
                const symbolize::ToolResults& results, const ResolveSite& resolve);

// Returns true if the finding is a failed access through a parameter of its kernel, and its address is unknown.
bool lacks_address(const Finding& finding);

// Sets the access of the finding whose kernel failed in a replay under compute-sanitizer, if its address is still
// unknown.
void add_replayed_access(Diagnosis& report, const session::Session& session,
                         const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
