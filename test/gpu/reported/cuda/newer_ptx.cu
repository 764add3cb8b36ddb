// A kernel arrives as PTX of a compiler that is newer than the driver.
#include <cuda_runtime.h>

const char* const PTX = R"(
.version 99.0
.target sm_90
.address_size 64
.visible .entry idle()
{
  ret;
}
)";

int main() {
  cudaFree(nullptr);
  cudaLibrary_t library;
  cudaKernel_t kernel;
  if (cudaLibraryLoadData(&library, PTX, nullptr, nullptr, 0, nullptr, nullptr, 0) != cudaSuccess) return 1;  // LAUNCH
  if (cudaLibraryGetKernel(&kernel, library, "idle") != cudaSuccess) return 1;                                // LAUNCH
  if (cudaLaunchKernel(kernel, 1, 1, nullptr, 0, nullptr) != cudaSuccess) return 1;                           // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
