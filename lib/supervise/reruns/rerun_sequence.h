// Reruns a recorded command until its failure is proven or nothing more can be learned.
#pragma once

#include "diagnose/session_state.h"
#include "launch/process.h"
#include "session/session.h"
#include "session/session_writer.h"
#include "supervise/reruns/rerun_listener.h"
#include "supervise/reruns/rerun_options.h"

namespace cudadiag::supervise {

// The passes are added to `session`, and to its folder as soon as each is over; `state` is that of the session, before
// and after. False: one could not be run, as the listener has heard.
bool run_reruns(session::Session& session, diagnose::SessionState& state, session::SessionWriter& writer,
                launch::SignalRelay& relay, const RerunPlan& plan, RerunListener& listener);

}  // namespace cudadiag::supervise
