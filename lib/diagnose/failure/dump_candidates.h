// Uses the exception in a GPU core dump to narrow down the candidates of a failure. The dump names the kernel that
// failed.
#pragma once

#include <vector>

#include "analyse/analysis.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"
#include "symbolize/tool_results.h"

namespace cudadiag::diagnose {

// In each failure with several candidates, moves those with the dump's kernel to the front. If only one line of the
// program launches that kernel, removes the other candidates and grades the failure as proven. Changes nothing if a
// rerun has proven a line, if the error differs, or if no candidate has that kernel.
void weigh_by_dump(std::vector<analyse::Failure>& failures, const symbolize::ToolResults& results,
                   const session::Session& session, symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
