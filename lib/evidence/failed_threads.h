// Finds the threads of a GPU core dump that failed, and chooses the one that a report shows.
#pragma once

#include <cstdint>
#include <vector>

#include "evidence/dump.h"

namespace cudadiag::evidence {

// Returns the threads with an exception or, if `trapped`, the threads at a trap instruction, in the order of the dump.
std::vector<const Lane*> failed_threads(const Dump& dump, bool trapped);

// Returns the first thread by device, grid, block and thread, in CUDA's numbering (x varies fastest). `threads` must
// not be empty.
const Lane& first_of(const Dump& dump, const std::vector<const Lane*>& threads);

struct FailedCount {
  std::uint64_t threads = 0, blocks = 0;
};
// Counts the failed threads that are in the same grid on the same device as `block`, and the blocks that contain them.
FailedCount count_in_grid(const Dump& dump, const std::vector<const Lane*>& threads, const Cta& block);

// Returns the first SM with an exception. After a warp has exited, its SM's exception is the only trace of its failure.
const Sm* first_failed_sm(const Dump& dump);

}  // namespace cudadiag::evidence
