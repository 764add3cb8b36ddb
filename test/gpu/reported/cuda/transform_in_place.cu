// Real signals are transformed in place, but the buffer has no room for the additional complex value of each signal.
#include <cufft.h>

int main() {
  const int length = 4, signals = 128 << 20;
  const size_t bytes = size_t(length) * signals * sizeof(float);
  cufftHandle plan;
  int lengths[] = {length};
  if (cufftPlanMany(&plan, 1, lengths, nullptr, 1, 0, nullptr, 1, 0, CUFFT_R2C, signals) != CUFFT_SUCCESS) return 77;
  float* data;
  cudaMalloc(&data, bytes);  // ALLOC
  cudaMemset(data, 0, bytes);
  cufftExecR2C(plan, data, reinterpret_cast<cufftComplex*>(data));  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
