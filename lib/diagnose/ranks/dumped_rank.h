// The state of a rank by the dump of PyTorch's Flight Recorder that it wrote, for ranks of which NCCL told nothing.
#pragma once

#include <cstddef>

#include "analyse/hangs/rank_state.h"
#include "evidence/flight_recorder/flight_dump.h"

namespace cudadiag::diagnose {

// `rank`: in the job. `until`: when the dump was made, or its process was last heard of, in seconds since the epoch.
// `most`: calls that are kept, the latest ones. Collectives have the numbers that PyTorch gives them, counted in their
// group; sends and receives have numbers only if the dump has all calls of the process.
analyse::RankState dumped_rank(const evidence::FlightDump& dump, int rank, double until, std::size_t most);

}  // namespace cudadiag::diagnose
