// Stores hangs of single streams in the session, and reads them back. Other streams of the process may still make
// progress.
#pragma once

#include <optional>

#include "analyse/analysis.h"
#include "session/session.h"

namespace cudadiag::analyse {

session::Stall stall_of(const Failure& hang);

// Rebuilds the failure from a stored stall of the process. `stall` must outlive the result. Returns nullopt if the
// stall does not fit the process.
std::optional<Failure> hang_again(const session::Process& process, const session::Stall& stall);

// Returns whether the stall happened in this process.
bool is_of(const session::Stall& stall, const session::Process& process);

// Returns whether the stall and the failure have the same first operation.
bool is_same(const session::Stall& stall, const Failure& hang);

}  // namespace cudadiag::analyse
