// What torch.compile made kernels of, and where that fails in a rerun that runs it as it is written (pass "eager").
#pragma once

#include <optional>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Whether the likeliest candidate was launched by code that Inductor generated from a Python function: of that function
// the stack has a frame, but none of its lines.
bool is_compiled(const Failure& failure);

// The failure of the rerun without torch.compile, in that function or what it calls, of whatever code; its candidates
// are launches of one site. Nothing: there was no such rerun, or it tells nothing.
std::optional<Failure> failed_eagerly(const session::Session& session, const Failure& failure);

}  // namespace cudadiag::analyse
