// The recorder's functions for NCCL's profiler plugin in the same process. NCCL may call them on any program thread.
#pragma once

#include <cstdint>

#include "record/collectives/collectives.h"

namespace cudadiag::record {

// Returns false if this process is not recorded.
bool takes_collectives();

// These call the functions of Collectives. Without a recorder they return kNone and do nothing.
std::uint32_t enter_communicator(const CommunicatorMade& made, bool may_be_known);
void leave_communicator(std::uint32_t communicator);
// `frame`: the frame address of the function that NCCL called.
void enter_collective(const CollectiveCall& call, std::uintptr_t frame);

}  // namespace cudadiag::record
