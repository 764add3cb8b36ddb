// The common part of all driver-API targets. Launches are macros, so that the issuing line is in the target itself.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>

#define LAUNCH(kernel, stream) cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr)

// The program exits at the first error that it checks, as most programs do.
#define CHECK(call)                                             \
  do {                                                          \
    if (const CUresult result = call; result != CUDA_SUCCESS) { \
      std::printf("%s: error %d\n", #call, result);             \
      std::exit(1);                                             \
    }                                                           \
  } while (false)

struct Driver {
  CUcontext context = nullptr;
  CUmodule module = nullptr;

  Driver() {
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, "target"));
  }

  CUfunction kernel(const char* name) const {
    CUfunction function = nullptr;
    CHECK(cuModuleGetFunction(&function, module, name));
    return function;
  }

  CUdeviceptr allocate(std::size_t bytes) const {
    CUdeviceptr memory = 0;
    CHECK(cuMemAlloc(&memory, bytes));
    return memory;
  }

  CUstream stream() const {
    CUstream made = nullptr;
    CHECK(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    return made;
  }
};
