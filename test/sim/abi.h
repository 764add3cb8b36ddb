// The real ABI that the simulated libraries implement: NVIDIA's own headers, with every version of every entry point.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL  // turns off renaming macros, and declares old versions too
#endif
// Instead of cupti.h, includes the headers of which it consists. cupti.h itself would declare the oldest structs a
// second time.
#include <cuda.h>
//
#include <cupti_result.h>
//
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_version.h>
#include <generated_cuda_meta.h>
