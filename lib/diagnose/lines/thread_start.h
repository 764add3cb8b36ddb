// The user's line for a thread that runs only library code: the line that started the thread, or that gave the work to
// a thread pool. The rerun that confirmed the failure recorded it.
#pragma once

#include <optional>

#include "diagnose/diagnosis.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Replaces `line`, the failing operation's line, by the line that started its thread. Returns nullopt and keeps `line`
// if it is the user's own, or if the start is unknown or has no line of the user's either.
std::optional<ThreadStart> lead_to_start(symbolize::TrueLine& line, const analyse::Failure& failure,
                                         symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
