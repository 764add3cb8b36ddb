// Collects the personal names to remove from a report before the user shares it.
#pragma once

#include "report/sharing/redaction.h"
#include "session/session.h"

namespace cudadiag::command {

// Returns the user's home folders and user names, the name of this host, and the name of the session's host.
report::Redaction own_names(const session::Session& session);

}  // namespace cudadiag::command
