// A process without progress when its run was ended: the operation that the GPU is blocked in, and who waits for it.
#pragma once

#include <optional>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// `seconds`: how long there had been no progress. Empty if no work of the process is certainly unfinished.
std::optional<Failure> hang(const session::Process& process, double seconds);

// The same of some of its streams, whose operations together are the ones that do not end; the others may work.
// `waiting`: the thread that waits for them; null: none does.
std::optional<Failure> hang_of(const session::Process& process, const std::vector<const UnfinishedStream*>& streams,
                               const WaitingThread* waiting, double seconds);

// Whether all operations that can be running are collectives of several ranks.
bool in_collective(const Failure& hang);

// For a process that ended while a thread had waited long for a collective: libraries give up then, and end it. Empty
// if no thread had.
std::optional<Failure> hang_until_end(const session::Process& process);

}  // namespace cudadiag::analyse
