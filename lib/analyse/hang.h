// A process in which nothing moved any more when its run was ended: where the GPU stands, and who waits for it.
#pragma once

#include <optional>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// `seconds`: how long nothing had moved. Nothing if no work of the process is known to be unfinished.
std::optional<Failure> hang(const session::Process& process, double seconds);

}  // namespace cudadiag::analyse
