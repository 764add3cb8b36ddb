// Finds out which APIs a process uses, so that advice names the calls of these APIs.
#pragma once

#include "diagnose/causes/symptoms.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Decides by the calls that failed in the process and by `stack`, the stack of one of the process's operations.
causes::Dialect dialect_of(const session::Process& process, const symbolize::SourceStack& stack, bool torch);

}  // namespace cudadiag::diagnose
