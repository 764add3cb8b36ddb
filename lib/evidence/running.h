// Finds the kernels that were running when a dump was requested, and where their threads were.
#pragma once

#include <vector>

#include "evidence/device_code.h"
#include "evidence/dump.h"
#include "evidence/testimony.h"

namespace cudadiag::evidence {

inline constexpr std::size_t kMostKernels = 1024;  // more than eight GPUs can run at once

// Returns at most kMostKernels kernels with blocks on the GPU, most threads first. A grid without blocks on the GPU has
// not started or is finishing, and is omitted.
std::vector<RunningKernel> running_kernels(const Dump& dump, const DeviceCode& code);

}  // namespace cudadiag::evidence
