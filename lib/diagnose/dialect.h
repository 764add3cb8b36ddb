// Finds out which APIs a process uses, so that advice names the calls of these APIs.
#pragma once

#include "diagnose/causes/case.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Looks at the failed calls of the process and at `stack`, the stack of one of its operations.
causes::Dialect dialect_of(const session::Process& process, const symbolize::SourceStack& stack, bool torch);

}  // namespace cudadiag::diagnose
