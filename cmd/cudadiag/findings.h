// From a session to what is said about it.
#pragma once

#include <cstdint>
#include <set>

#include "report/report.h"
#include "session/session.h"

namespace cudadiag::command {

// The report on `session`, failures of the processes in `told` left out.
report::Report examine(const session::Session& session, const std::set<std::uint32_t>& told = {});

}  // namespace cudadiag::command
