// Transforms with cuFFT share a work area; it is released while a plan still refers to it.
#include <cufft.h>

int main() {
  const int n = 1 << 24;
  const size_t area_bytes = size_t(1) << 30;
  cufftComplex* signal;
  void* area;
  cudaMalloc(&signal, n * sizeof(cufftComplex));
  cudaMalloc(&area, area_bytes);  // ALLOC
  cudaMemset(signal, 0, n * sizeof(cufftComplex));
  cufftHandle plan;
  size_t needed = 0;
  cufftCreate(&plan);
  cufftSetAutoAllocation(plan, 0);
  if (cufftMakePlan1d(plan, n, CUFFT_C2C, 1, &needed) != CUFFT_SUCCESS) return 77;
  if (needed < (4 << 20) || needed > area_bytes) return 77;  // no work area, or a larger one
  cufftSetWorkArea(plan, area);
  cufftExecC2C(plan, signal, signal, CUFFT_FORWARD);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  cudaFree(area);                                     // FREED
  cufftExecC2C(plan, signal, signal, CUFFT_INVERSE);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
