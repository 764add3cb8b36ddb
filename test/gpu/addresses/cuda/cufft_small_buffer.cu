// The plan is for 2^18 transforms, but the buffer has room for 2^10.
#include <cufft.h>

int main() {
  const int points = 1024;
  cufftComplex* signals;
  cudaMalloc(&signals, (1 << 10) * points * sizeof(cufftComplex));  // ALLOC
  cufftHandle plan;
  cufftPlan1d(&plan, points, CUFFT_C2C, 1 << 18);
  cufftExecC2C(plan, signals, signals, CUFFT_FORWARD);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
