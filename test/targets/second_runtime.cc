// A library brings its own CUDA runtime, which rejects an impossible launch, and the program does not check the error.
// second_runtime [alone|linked|asked]: by default, the library's runtime is older, and rejects the launch by itself.
// alone: the program's newer runtime is not used. linked: the library's runtime is as new as the program's, and linked
// into the library. asked: like linked, and the program queries the last error of its own runtime, which reports none.
#include <dlfcn.h>

#include <string>

#include "runtime.h"

KERNEL(scale);

int main(int count, char** arguments) {
  const std::string how = count == 1 ? "" : arguments[1];
  if (how != "alone") {
    LAUNCH(scale, dim3(1), dim3(32));
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  }
  void* other = dlopen(how == "linked" || how == "asked" ? LINKED_RUNTIME : OLDER_RUNTIME, RTLD_NOW | RTLD_LOCAL);
  if (other == nullptr) return 2;
  // Hooks see only calls through addresses that are looked up after the runtime has started.
  const auto wait = reinterpret_cast<decltype(&cudaDeviceSynchronize)>(dlsym(other, "cudaDeviceSynchronize"));
  if (wait() != cudaSuccess) return 4;
  const auto launch = reinterpret_cast<cudaError_t (*)(const void*, dim3, dim3, void**, std::size_t, cudaStream_t)>(
      dlsym(other, "cudaLaunchKernel"));
  const auto add = reinterpret_cast<decltype(&__cudaRegisterFunction)>(dlsym(other, "__cudaRegisterFunction"));
  add(nullptr, reinterpret_cast<const char*>(&scale), nullptr, "scale", -1, nullptr, nullptr, nullptr, nullptr,
      nullptr);
  launch(reinterpret_cast<const void*>(&scale), dim3(1), dim3(32), nullptr, 0, nullptr);
  launch(reinterpret_cast<const void*>(&scale), dim3(1), dim3(2048), nullptr, 0, nullptr);  // TRUE LINE
  if (how == "asked") {
    LAUNCH(scale, dim3(1), dim3(32));
    if (cudaGetLastError() != cudaSuccess) return 3;
  }
  return wait() != cudaSuccess;
}
