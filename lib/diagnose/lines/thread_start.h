// The user's line for a thread that runs only a library's code: the one that started the thread, or that gave the
// work to a pool of threads. The rerun that confirmed the failure knows it.
#pragma once

#include <optional>

#include "diagnose/diagnosis.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// `line`, the failing operation's, becomes the one that started its thread. Nothing, and `line` stays: it is the user's
// own, or the line of the start is not known, or that has no line of the user's either.
std::optional<ThreadStart> lead_to_start(symbolize::TrueLine& line, const analyse::Failure& failure,
                                         symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
