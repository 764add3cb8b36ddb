// The functions through which NCCL's profiler plugin reaches the recorder. NCCL may call them on any program thread.
#pragma once

#include <cstdint>

#include "record/collectives/collectives.h"

namespace cudadiag::record {

// Returns false if this process is not recorded.
bool takes_collectives();

// These functions forward to Collectives. Without a recorder, they do nothing and return kNone.
std::uint32_t enter_communicator(const CommunicatorMade& made, bool may_be_known);
void leave_communicator(std::uint32_t communicator);
// `frame`: the frame address of the function that NCCL called.
void enter_collective(const CollectiveCall& call, std::uintptr_t frame);

}  // namespace cudadiag::record
