// Completes a launch that a rerun saved, and replays it to see whether it still fails on its own.
#pragma once

#include <filesystem>
#include <optional>

#include "diagnose/session_state.h"
#include "launch/process.h"
#include "session/session.h"
#include "session/session_writer.h"
#include "supervise/reruns/rerun_listener.h"

namespace cudadiag::supervise {

// Completes the folder of the latest saved launch, replays the launch, stores the result in the session's manifest, and
// updates `state`. Returns a problem if no launch was saved, or if something could not be stored.
std::optional<RerunProblem> try_saved_launch(session::Session& session, diagnose::SessionState& state,
                                             session::SessionWriter& writer, launch::SignalRelay& relay);

}  // namespace cudadiag::supervise
