// From a session to what is said about it.
#pragma once

#include <functional>

#include "report/report.h"
#include "session/session.h"

namespace cudadiag::command {

// The report on `session`, restricted to failures of processes that `wanted` takes.
report::Report examine(const session::Session& session,
                       const std::function<bool(const session::Process&)>& wanted = {});

}  // namespace cudadiag::command
