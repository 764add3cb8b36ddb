// Finds what blocks a process that hangs: the operation that does not finish, and the thread that waits for it.
#pragma once

#include <optional>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// `seconds`: how long the process has made no progress. Returns nullopt if nothing shows that work of the process is
// unfinished.
std::optional<Failure> hang(const session::Process& process, double seconds);

// Like hang(), for streams that are stuck together while other streams may make progress. `waiting` is the thread that
// waits for them, or null.
std::optional<Failure> hang_of(const session::Process& process, const std::vector<const UnfinishedStream*>& streams,
                               const WaitingThread* waiting, double seconds);

// Returns whether every operation that may be blocking the GPU is a collective.
bool in_collective(const Failure& hang);

// Finds the collective for which a process waited for a long time before it ended, as libraries do before they give up.
// Returns nullopt if no thread waited that long.
std::optional<Failure> hang_until_end(const session::Process& process);

}  // namespace cudadiag::analyse
