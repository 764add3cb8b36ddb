// The memory of a std::vector is registered with CUDA, and unregistered before the vector grows; the kernel keeps the
// old pointer.
#include <vector>

#include "needs.cuh"

__global__ void sum(const float* samples, float* out) { atomicAdd(out, samples[threadIdx.x]); }  // ACCESS

int main() {
  needs_no_pageable_access();
  std::vector<float> samples(16 << 20, 1);
  float *mapped, *out;
  cudaMalloc(&out, 4096);
  const size_t bytes = samples.size() * sizeof(float);
  if (cudaHostRegister(samples.data(), bytes, cudaHostRegisterMapped)) return 77;  // ALLOC
  cudaHostGetDevicePointer(&mapped, samples.data(), 0);
  sum<<<1, 64>>>(mapped, out);
  cudaDeviceSynchronize();
  cudaHostUnregister(samples.data());  // FREED
  samples.resize(32 << 20);
  sum<<<1, 64>>>(mapped, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
