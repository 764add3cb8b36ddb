// The operation that caused a process's sticky error, from the state that was frozen when the error was first seen.
#pragma once

#include <optional>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

inline constexpr std::size_t kMaxCandidates = 64;

// Returns nullopt if the process saw no sticky error. `process` must outlive the result.
std::optional<Failure> first_failure(const session::Process& process);

// Returns whether the GPU is shared with other processes, so that a fault of one of them ends this one too.
// (Multi-Process Service: on an H200 with driver 580, a process received error 700 because its neighbour wrote through
// a null pointer.)
bool under_mps(const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
