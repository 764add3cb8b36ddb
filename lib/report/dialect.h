// The APIs that a process was seen to use, so that advice names calls of these.
#pragma once

#include "explain/symptoms.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::report {

// By the calls that failed in the process, and by this stack of one of its operations.
explain::Dialect dialect_of(const session::Process& process, const symbolize::SourceStack& stack, bool torch);

}  // namespace cudadiag::report
