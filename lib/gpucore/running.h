// The kernels that were running when a dump was asked for, and where their threads stood.
#pragma once

#include <vector>

#include "gpucore/dump.h"
#include "gpucore/testimony.h"

namespace cudadiag::gpucore {

// Those with blocks on the GPU, most threads first; grids without any are left out: they wait for room, or end.
std::vector<RunningKernel> running_kernels(Dump& dump);

}  // namespace cudadiag::gpucore
