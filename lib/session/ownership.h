// Finds out whether a session is the reader's own. cudadiag reads the sources and scripts that a session names, and
// runs its command, with the reader's rights. A session of another user could name any file and any command.
//
// A session is the reader's own if its folder belongs to the effective user and it was recorded on this host. The check
// of the host is not reliable: the host's name comes from the session itself, and a container gets a new name at each
// start.
#pragma once

#include <string>

#include "session/session.h"

namespace cudadiag::session {

// Returns a clause such as "its folder belongs to another user (uid 1001)".
std::string why_foreign(const Session& session);

}  // namespace cudadiag::session
