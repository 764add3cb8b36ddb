// The function that torch.compile compiled, and where it fails in reruns that run it as written (passes "eager").
#pragma once

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Whether the likeliest candidate was launched by code that Inductor generated from a Python function: of that function
// the stack has a frame, but none of its lines.
bool is_compiled(const Failure& failure);
// The compiled function, or its rest after a graph break. Null: the code was not compiled.
const session::Code* compiled_function_of(const Failure& failure);

// The reruns without torch.compile as a session of their own, of which the first is the first run and the others
// confirm it. Without processes where there were none.
session::Session eager_session(const session::Session& session);

// Whether `eager`, a failure of that session, happened at one site, in the function that was compiled where `failure`
// happened or in what that calls, and in a process of the same rank. Which error it was does not matter.
bool shows_line_of(const Failure& failure, const Failure& eager, const session::Session& eager_session);

}  // namespace cudadiag::analyse
