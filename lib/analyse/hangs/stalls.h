// A hang of some streams as the session keeps it, while the rest of the process may work on.
#pragma once

#include <optional>

#include "analyse/analysis.h"
#include "session/notes/stalls.h"

namespace cudadiag::analyse {

// The copy of a hang that was found while the process ran.
session::Stall stall_of(const Failure& hang);

// The hang again, of the same process as it is read later. `stall` outlives the result. Empty if the stall does not fit
// the process.
std::optional<Failure> hang_again(const session::Process& process, const session::Stall& stall);

// It is one of the process's stalls.
bool is_of(const session::Stall& stall, const session::Process& process);

// Both name one operation first.
bool is_same(const session::Stall& stall, const Failure& hang);

}  // namespace cudadiag::analyse
