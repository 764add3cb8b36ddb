// The table is on the GPU, but one of its rows was allocated with malloc.
#include "needs.cuh"

__global__ void scale_all(float** rows, float by) { rows[blockIdx.x][threadIdx.x] *= by; }  // ACCESS

int main() {
  needs_no_pageable_access();
  float *host[4], **rows;
  for (float*& row : host) cudaMalloc(&row, 4096);
  host[2] = static_cast<float*>(calloc(1024, sizeof(float)));
  cudaMalloc(&rows, sizeof host);
  cudaMemcpy(rows, host, sizeof host, cudaMemcpyHostToDevice);
  scale_all<<<4, 64>>>(rows, 2);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
