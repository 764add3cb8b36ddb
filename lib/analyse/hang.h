// Finds what blocks a process that hangs, and stores it in the session if only some streams hang.
#pragma once

#include <optional>
#include <vector>

#include "analyse/failure.h"
#include "session/session.h"

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

// Converts a hang of single streams for storing in the session. Other streams of the process may still make progress.
session::Stall stall_of(const Failure& hang);

// Rebuilds the failure from a stored stall of the process. `stall` must outlive the result. Returns nullopt if the
// stall does not fit the process.
std::optional<Failure> hang_again(const session::Process& process, const session::Stall& stall);

// Returns whether the stall happened in this process.
bool is_of(const session::Stall& stall, const session::Process& process);

// Returns whether the stall and the failure have the same first operation.
bool is_same(const session::Stall& stall, const Failure& hang);

}  // namespace cudadiag::analyse
