// Whether a session is the reader's own. What it names as sources and scripts are files of the reader, and what it names
// as its command runs with the reader's rights: a session of somebody else could name any.
//
// A session is the reader's own if its folder belongs to the effective user, and it was recorded on this host. Both can
// be wrong: the host's name is what the session says, and a container has another name at each start.
#pragma once

#include <string>

#include "session/session.h"

namespace cudadiag::session {

// A clause, "its folder belongs to another user (uid 1001)"; empty for the reader's own session.
std::string why_foreign(const Session& session);

}  // namespace cudadiag::session
