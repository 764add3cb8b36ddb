// The names that are removed from a report before the user shares it.
#pragma once

#include "report/sharing/redaction.h"
#include "session/session.h"

namespace cudadiag::command {

// Returns the user's home folders and names, and the names of this host and of the session's host.
report::Redaction own_names(const session::Session& session);

}  // namespace cudadiag::command
