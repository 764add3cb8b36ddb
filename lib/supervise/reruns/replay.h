// Replays the failing call that a rerun saved with its tensors. Runs the script that is stored with the call once, in a
// separate process, to see whether the call fails on its own.
#pragma once

#include <chrono>
#include <optional>

#include "analyse/analysis.h"
#include "launch/process.h"
#include "session/session.h"
#include "session/session_writer.h"
#include "supervise/reruns/rerun_listener.h"

namespace cudadiag::supervise {

extern const char* const kReplayScript;

// Replays the call of the first failure that a rerun confirmed, and stores the outcome in the session's manifest.
// Returns a problem if no call was saved, or if the replay did not start or could not be stored.
std::optional<RerunProblem> replay(session::Session& session, session::SessionWriter& writer,
                                   const analyse::Analysis& analysis, std::chrono::milliseconds patience,
                                   launch::SignalRelay& relay);

}  // namespace cudadiag::supervise
