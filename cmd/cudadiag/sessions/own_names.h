// The names that are removed from a report that the user shares.
#pragma once

#include "report/sharing/redaction.h"
#include "session/session.h"

namespace cudadiag::command {

// The user's home folders and names, the name of this host, and the name of the session's host.
report::Redaction own_names(const session::Session& session);

}  // namespace cudadiag::command
