// The findings that races between streams are: one for each pair of lines.
#pragma once

#include "report/operation_memory.h"
#include "report/report.h"

namespace cudadiag::report {

// `resolve` as in operation_memory.h.
void add_races(Report& report, const session::Session& session, const ResolveSite& resolve);

}  // namespace cudadiag::report
