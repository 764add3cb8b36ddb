// The threads of a GPU core dump that failed, and the one among them that a report names.
#pragma once

#include <cstdint>
#include <vector>

#include "evidence/dump.h"

namespace cudadiag::evidence {

// Returns the threads with an exception or, if `trapped`, the threads at a trap, in the order of the dump.
std::vector<const Lane*> failed_threads(const Dump& dump, bool trapped);

// Returns the first thread by device, grid, block and thread. x varies fastest, as in CUDA's numbering. There must be
// at least one thread.
const Lane& first_of(const Dump& dump, const std::vector<const Lane*>& threads);

struct FailedCount {
  std::uint64_t threads = 0, blocks = 0;
};
// Counts the threads that belong to the same grid on the same device as `block`, and the blocks that contain them.
FailedCount count_in_grid(const Dump& dump, const std::vector<const Lane*>& threads, const Cta& block);

// Returns the first SM with an exception; null if there is none. The exception of its SM is all that is left of a warp
// that has exited.
const Sm* first_failed_sm(const Dump& dump);

}  // namespace cudadiag::evidence
