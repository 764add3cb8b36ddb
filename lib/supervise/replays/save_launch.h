// The launch that a rerun saved, completed for its reader, and made again alone to see whether it still fails.
#pragma once

#include <filesystem>
#include <optional>

#include "diagnose/session_state.h"
#include "launch/process.h"
#include "session/session.h"
#include "session/session_writer.h"
#include "supervise/reruns/rerun_listener.h"

namespace cudadiag::supervise {

// Completes the folder of the latest one, replays it, and notes the result in the manifest of the session, which then is
// in another state. The problem if no launch was saved.
std::optional<RerunProblem> try_saved_launch(session::Session& session, diagnose::SessionState& state,
                                             session::SessionWriter& writer, launch::SignalRelay& relay);

}  // namespace cudadiag::supervise
