// Reruns a recorded command until its failure is proven, or reruns can add nothing more.
#pragma once

#include "diagnose/session_state.h"
#include "launch/process.h"
#include "session/session.h"
#include "session/session_writer.h"
#include "supervise/reruns/rerun_listener.h"
#include "supervise/reruns/rerun_options.h"

namespace cudadiag::supervise {

// Adds each pass to `session` and to its folder as soon as the pass ends. `state` must belong to `session`, and is up
// to date afterwards. If a rerun could not run, tells the listener and returns false.
bool run_reruns(session::Session& session, diagnose::SessionState& state, session::SessionWriter& writer,
                launch::SignalRelay& relay, const RerunPlan& plan, RerunListener& listener);

}  // namespace cudadiag::supervise
