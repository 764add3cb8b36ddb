// A runtime is linked statically into the program, as nvcc does by default. Prints whether any callback reports its
// launches. One launch is rejected, and the program does not check the error.
// linked_runtime [direct|shared]: direct: the rejected launch is a driver call; shared: a libcudart.so was initialised
// earlier.
#include <cupti_runtime_cbid.h>
#include <dlfcn.h>

#include <string>

#include "hooks.h"
#include "runtime.h"

KERNEL(scale);

#ifdef OLDER_AS_WELL
extern "C" void cudaThreadSynchronize() {}  // removed in CUDA 13
#endif

int main(int count, char** arguments) {
  const std::string how = count == 1 ? "" : arguments[1];
  if (how == "shared") {
    void* other = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
    if (other == nullptr) return 2;
    reinterpret_cast<decltype(&cudaDeviceSynchronize)>(dlsym(other, "cudaDeviceSynchronize"))();
  }
  LAUNCH(scale, dim3(1), dim3(32));
  const bool heard = sim_hooks()->runtime[CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000];
  std::printf("launches of the runtime %s\n", heard ? "heard" : "left out");
  if (how == "direct") {
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
