// The failing call, saved by a rerun with its tensors, and a script that makes it again: written beside them, and run
// once in a process of its own to see whether that call alone is enough.
#pragma once

#include <chrono>

#include "analyse/analysis.h"
#include "launch/process.h"
#include "session/session.h"
#include "session/session_writer.h"

namespace cudadiag::command {

extern const char* const kReplayScript;

// Replays the call of the first failure that a rerun confirmed. Says why if there is nothing to replay. The outcome
// goes into the manifest of the session.
void replay(session::Session& session, session::SessionWriter& writer, const analyse::Analysis& analysis,
            std::chrono::milliseconds patience, launch::SignalRelay& relay);

}  // namespace cudadiag::command
