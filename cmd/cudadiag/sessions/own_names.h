// The names that a report for others leaves out.
#pragma once

#include "report/sharing/redaction.h"
#include "session/session.h"

namespace cudadiag::command {

// The user's home folders and names, this host's name, and that of the session's.
report::Redaction own_names(const session::Session& session);

}  // namespace cudadiag::command
