// How NCCL's profiler plugin reaches the recorder of its process. Any thread of the program's, inside NCCL.
#pragma once

#include <cstdint>

#include "record/collectives/collectives.h"

namespace cudadiag::record {

// False: this process is not recorded.
bool takes_collectives();

// As Collectives has them; kNone and no effect without a recorder.
std::uint32_t enter_communicator(const CommunicatorMade& made, bool may_be_known);
void leave_communicator(std::uint32_t communicator);
// `frame`: the frame address of the function that NCCL called.
void enter_collective(const CollectiveCall& call, std::uintptr_t frame);

}  // namespace cudadiag::record
