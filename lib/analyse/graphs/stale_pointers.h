// Graphs that were launched though memory that they point to had been freed, as the recorder noticed at the launch.
#pragma once

#include <optional>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// The first such launch of a process in which nothing failed: suspected, because it is not known whether the node used
// its pointer.
std::optional<Failure> stale_replay(const session::Process& process);

// For a failure whose only candidate is such a launch: blames its node, and names the memory that it pointed to.
void blame_stale_pointer(Failure& failure);

}  // namespace cudadiag::analyse
