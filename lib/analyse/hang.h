// A process in which nothing moved any more when its run was ended: where the GPU stands, and who waits for it.
#pragma once

#include <optional>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// `seconds`: how long nothing had moved. Nothing if no work of the process is known to be unfinished.
std::optional<Failure> hang(const session::Process& process, double seconds);

// Whether all that it may stand at are collectives of several ranks.
bool in_collective(const Failure& hang);

// For a process that ended while a thread had waited long for a collective: the libraries that call them give up then,
// and end it. Empty if none had.
std::optional<Failure> hang_until_end(const session::Process& process);

}  // namespace cudadiag::analyse
