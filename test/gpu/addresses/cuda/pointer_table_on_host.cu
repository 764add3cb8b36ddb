// The table of pointers is itself in host memory.
#include <vector>

#include "needs.cuh"

__global__ void scale_all(float** matrices, float by) { matrices[blockIdx.x][threadIdx.x] *= by; }  // ACCESS

int main() {
  needs_no_pageable_access();
  std::vector<float*> matrices(8);
  for (float*& matrix : matrices) cudaMalloc(&matrix, 4096);
  scale_all<<<8, 64>>>(matrices.data(), 2);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
