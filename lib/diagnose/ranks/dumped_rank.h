// The state of a rank according to its PyTorch Flight Recorder dump, for ranks about which NCCL reported nothing.
#pragma once

#include <cstddef>

#include "analyse/hangs/rank_state.h"
#include "evidence/flight_recorder/flight_dump.h"

namespace cudadiag::diagnose {

// `rank`: in the job. `until`: when the dump was written or, if earlier, its process ended, in seconds since the epoch.
// `most`: how many of the latest calls are kept. Collectives have the numbers that PyTorch gives them, counted per
// group; sends and receives have numbers only if the dump has all calls of the process.
analyse::RankState dumped_rank(const evidence::FlightDump& dump, int rank, double until, std::size_t most);

}  // namespace cudadiag::diagnose
