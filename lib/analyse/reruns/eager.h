// The function that torch.compile compiled, and where it fails in reruns that do not compile it (passes "eager").
#pragma once

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Returns whether Inductor-generated code launched the likeliest candidate. The stack then contains a frame of the
// Python function, but not its line.
bool is_compiled(const Failure& failure);
// Returns the compiled function or, after a graph break, its rest; null if the code was not compiled.
const session::Code* compiled_function_of(const Failure& failure);

// Returns the reruns without torch.compile as a session of their own: the first is its first run, and the others
// confirm it. The session has no processes if there were no such reruns.
session::Session eager_session(const session::Session& session);

// Returns whether `eager`, a failure of `eager_session`, shows the line where `failure` happened. It must be at one
// site in a process of the same rank, in the compiled function of `failure` or in what it calls. The error code may
// differ.
bool shows_line_of(const Failure& failure, const Failure& eager, const session::Session& eager_session);

}  // namespace cudadiag::analyse
