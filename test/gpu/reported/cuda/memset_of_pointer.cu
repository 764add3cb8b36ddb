// A memset gets the address of the pointer instead of the pointer.
#include "../../addresses/cuda/needs.cuh"

__global__ void dock(float* poses) { poses[threadIdx.x] += 1; }

int main() {
  needs_no_pageable_access();
  float* poses;
  cudaMalloc(&poses, 1 << 20);
  if (cudaMemset(&poses, 0, sizeof poses) != cudaSuccess) return 1;  // LAUNCH
  dock<<<1, 256>>>(poses);
  return cudaDeviceSynchronize() != cudaSuccess;
}
