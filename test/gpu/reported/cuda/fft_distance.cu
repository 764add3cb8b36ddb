// Many transforms with cuFFT: the distance between the signals is in bytes instead of elements.
#include <cufft.h>

int main() {
  int n = 4096;
  const int batch = 4096;
  cufftComplex* signals;
  cudaMalloc(&signals, size_t(n) * batch * sizeof(cufftComplex));  // ALLOC
  cudaMemset(signals, 0, size_t(n) * batch * sizeof(cufftComplex));
  cufftHandle plan;
  const int distance = n * sizeof(cufftComplex);
  if (cufftPlanMany(&plan, 1, &n, &n, 1, distance, &n, 1, distance, CUFFT_C2C, batch) != CUFFT_SUCCESS) return 77;
  cufftExecC2C(plan, signals, signals, CUFFT_FORWARD);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
