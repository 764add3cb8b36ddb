// Determines whether two calls failed in the same way at the same line.
#pragma once

#include <functional>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

using SameCall = std::function<bool(const session::FailedCall&, const session::FailedCall&)>;

// `process` and `same_line` must outlive the result.
SameCall same_call(const session::Process& process, const SameLine& same_line);

}  // namespace cudadiag::analyse
