// Whether a session is the reader's own. Its sources and scripts are read as the reader's files, and its command runs
// with the reader's rights. A session of somebody else could name any of them.
//
// A session is the reader's own if its folder belongs to the effective user, and it was recorded on this host. Both can
// be wrong: the session itself states the host's name, and a container gets a new name at each start.
#pragma once

#include <string>

#include "session/session.h"

namespace cudadiag::session {

// Returns a clause, "its folder belongs to another user (uid 1001)"; empty for the reader's own session.
std::string why_foreign(const Session& session);

}  // namespace cudadiag::session
