// Finds the user's line for a thread that runs only library code. It is the line that started the thread, or that gave
// the work to a thread pool. The rerun that confirmed the failure recorded this line.
#pragma once

#include <optional>

#include "diagnose/facts/model.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Replaces `line`, the line of the failing operation, with the line that started its thread. Returns nullopt and keeps
// `line` if it is in the user's code, or if no line of the user's code is known to have started the thread.
std::optional<ThreadStart> lead_to_start(symbolize::TrueLine& line, const analyse::Failure& failure,
                                         symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
