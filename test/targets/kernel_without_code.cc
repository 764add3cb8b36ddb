// A program built for other GPUs by nvcc 13. Its kernel cannot be loaded, so the runtime itself rejects the launch. No
// API callback shows why. The program does not check the error.
// kernel_without_code [asked]: another call has already requested the kernel, and the program checked that call's
// error.
// Plan: fail api=cuModuleLoadData nth=1 code=209
#include "runtime.h"

KERNEL(scale);

extern "C" cudaError_t __cudaGetKernel(cudaKernel_t*, const void*);
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t);

int main(int count, char**) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, 4096) != cudaSuccess) return 1;
  if (count > 1) {
    const cudaLaunchConfig_t configuration{dim3(1), dim3(32), 0, nullptr, nullptr, 0};
    cudaLaunchKernelExC(&configuration, reinterpret_cast<const void*>(&scale), nullptr);
    std::printf("%d\n", cudaGetLastError());
    LAUNCH(scale, dim3(1), dim3(32));  // TRUE LINE asked
    return 0;
  }
  cudaKernel_t kernel = nullptr;
  __cudaGetKernel(&kernel, reinterpret_cast<const void*>(&scale));
  __cudaLaunchKernel(kernel, dim3(1), dim3(32), nullptr, 0, nullptr);  // TRUE LINE
  std::puts("done");
}
