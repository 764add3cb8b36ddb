// A runtime linked into the program, as nvcc does it: says whether anybody hears of its launches, of which one is
// refused, and nobody looks.
// linked_runtime [direct]: it is the driver's own call.
#include <cupti_runtime_cbid.h>

#include "hooks.h"
#include "runtime.h"

KERNEL(scale);

int main(int count, char**) {
  LAUNCH(scale, dim3(1), dim3(32));
  const bool heard = sim_hooks()->runtime[CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000];
  std::printf("launches of the runtime %s\n", heard ? "heard" : "left out");
  if (count > 1) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    if (cuModuleLoadData(&module, "simulated module") != CUDA_SUCCESS ||
        cuModuleGetFunction(&function, module, "scale") != CUDA_SUCCESS) {
      return 1;
    }
    cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr);
  } else {
    LAUNCH(scale, dim3(1), dim3(2048));  // TRUE LINE
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
