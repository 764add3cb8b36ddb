// Reads the state of a rank from its PyTorch Flight Recorder dump, for ranks about which NCCL reported nothing.
#pragma once

#include <cstddef>

#include "analyse/communicator_divergence.h"
#include "evidence/flight_dump.h"

namespace cudadiag::diagnose {

// Reads the state of a rank from its PyTorch Flight Recorder dump, for ranks about which NCCL reported nothing.
// `rank` is the rank's number in the job. `until` is the time at which the dump was written or, if earlier, the process
// ended, in seconds since the epoch. `most` is the number of latest calls to keep. Collectives keep the numbers that
// PyTorch gives them within their group. Sends and receives have numbers only if the dump has all calls of the process.
analyse::RankState flight_rank(const evidence::FlightDump& dump, int rank, double until, std::size_t most);

}  // namespace cudadiag::diagnose
