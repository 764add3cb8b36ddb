// A process without progress when its run was ended: the operation that the GPU is blocked in, and who waits for it.
#pragma once

#include <optional>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// `seconds`: how long there had been no progress. Empty if no work of the process is certainly unfinished.
std::optional<Failure> hang(const session::Process& process, double seconds);

// Whether all operations that can be running are collectives of several ranks.
bool in_collective(const Failure& hang);

// For a process that ended while a thread had waited long for a collective: libraries give up then, and end it. Empty
// if no thread had.
std::optional<Failure> hang_until_end(const session::Process& process);

}  // namespace cudadiag::analyse
