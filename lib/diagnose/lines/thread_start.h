// Finds the user's line for a thread that runs only library code: the line that started the thread, or that gave the
// work to a thread pool. The rerun that confirmed the failure recorded this line.
#pragma once

#include <optional>

#include "diagnose/diagnosis.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Replaces `line`, which is the failing operation's line, by the line that started its thread. Returns nullopt and
// keeps `line` if that is the user's own already, or if no line of the user's is known for the start.
std::optional<ThreadStart> lead_to_start(symbolize::TrueLine& line, const analyse::Failure& failure,
                                         symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
