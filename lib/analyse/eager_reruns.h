// Finds where a compiled function fails, from reruns without torch.compile (passes "eager").
#pragma once

#include <string>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Returns whether Inductor-generated code launched the likeliest candidate. The stack then contains a frame of the
// Python function, but not its line.
bool is_compiled(const Failure& failure);
// Returns whether the process ran code that torch.compile generated, as far as its recording shows.
bool ran_compiled(const session::ProcessRecord& record);
// Returns the compiled function or, after a graph break, the function that continues it; null if the code was not
// compiled.
const session::Code* compiled_function_of(const Failure& failure);

// After a graph break, Dynamo names the rest of `Model.forward` Model.torch_dynamo_resume_in_forward_at_31. Returns
// `Model.forward` for both names.
std::string whole_name(const std::string& name);

// Returns a separate session made of the reruns without torch.compile. The first rerun serves as the first run of this
// session, and the others confirm it. The session has no processes if there were no such reruns.
session::Session eager_session(const session::Session& session);

// Returns true if `eager`, a failure of `eager_session`, shows the line of `failure`. This is so if `eager` has a
// single call site, in a process of the same rank, and if the compiled function is on the stack of that call site. The
// two error codes may differ.
bool shows_line_of(const Failure& failure, const Failure& eager, const session::Session& eager_session);

}  // namespace cudadiag::analyse
