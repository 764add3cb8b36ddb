// Replays what a rerun saved, to see whether it fails on its own: the failing call with its tensors, by the script that is
// stored with it, or the failing launch with its memory.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "analyse/analysis.h"
#include "diagnose/session_state.h"
#include "launch/signals.h"
#include "session/session.h"
#include "session/session_writer.h"
#include "supervise/reruns/rerun.h"

namespace cudadiag::supervise {

extern const char* const kReplayScript;

// Replays the call of the first failure that a rerun confirmed, and stores the outcome in the session's manifest.
// Returns a problem if no call was saved, or if the replay did not start or could not be stored.
std::optional<RerunProblem> replay(session::Session& session, session::SessionWriter& writer,
                                   const analyse::Analysis& analysis, std::chrono::milliseconds patience,
                                   launch::SignalRelay& relay);

// Completes the folder of the latest saved launch, replays the launch, stores the result in the session's manifest, and
// updates `state`. Returns a problem if no launch was saved, or if something could not be stored.
std::optional<RerunProblem> try_saved_launch(session::Session& session, diagnose::SessionState& state,
                                             session::SessionWriter& writer, launch::SignalRelay& relay);

}  // namespace cudadiag::supervise
