// The APIs that a process was seen to use, so that advice names calls of these.
#pragma once

#include "diagnose/causes/symptoms.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// By the calls that failed in the process, and by this stack of one of its operations.
causes::Dialect dialect_of(const session::Process& process, const symbolize::SourceStack& stack, bool torch);

}  // namespace cudadiag::diagnose
