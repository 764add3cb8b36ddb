// The failing call, saved by a rerun with its tensors, and a script that makes it again: written beside them, and run
// once in a process of its own to see whether that call alone is enough.
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

// Replays the call of the first failure that a rerun confirmed. The outcome goes into the manifest of the session. The
// problem if no call was saved.
std::optional<RerunProblem> replay(session::Session& session, session::SessionWriter& writer,
                                   const analyse::Analysis& analysis, std::chrono::milliseconds patience,
                                   launch::SignalRelay& relay);

}  // namespace cudadiag::supervise
