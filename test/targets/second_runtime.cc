// A library brings a runtime of its own, an older one, which refuses an impossible launch by itself, and nobody looks.
// second_runtime [alone]: the newer one has begun, or is not used.
#include <dlfcn.h>

#include "runtime.h"

KERNEL(scale);

int main(int count, char**) {
  if (count == 1) {
    LAUNCH(scale, dim3(1), dim3(32));
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  }
  void* other = dlopen(OTHER_RUNTIME, RTLD_NOW | RTLD_LOCAL);
  if (other == nullptr) return 2;
  const auto launch = reinterpret_cast<cudaError_t (*)(const void*, dim3, dim3, void**, std::size_t, cudaStream_t)>(
      dlsym(other, "cudaLaunchKernel"));
  const auto add = reinterpret_cast<decltype(&__cudaRegisterFunction)>(dlsym(other, "__cudaRegisterFunction"));
  const auto wait = reinterpret_cast<decltype(&cudaDeviceSynchronize)>(dlsym(other, "cudaDeviceSynchronize"));
  add(nullptr, reinterpret_cast<const char*>(&scale), nullptr, "scale", -1, nullptr, nullptr, nullptr, nullptr,
      nullptr);
  launch(reinterpret_cast<const void*>(&scale), dim3(1), dim3(32), nullptr, 0, nullptr);
  launch(reinterpret_cast<const void*>(&scale), dim3(1), dim3(2048), nullptr, 0, nullptr);  // TRUE LINE
  return wait() != cudaSuccess;
}
