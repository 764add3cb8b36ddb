// A __device__ array is passed as an argument, which is the address of its shadow on the host.
#include "needs.cuh"

__device__ float table[1024];

__global__ void look_up(const float* from, const int* keys, float* out) {
  out[threadIdx.x] = from[keys[threadIdx.x]];  // ACCESS
}

int main() {
  needs_no_pageable_access();
  int* keys;
  float* out;
  cudaMalloc(&keys, 4096);
  cudaMalloc(&out, 4096);
  cudaMemset(keys, 0, 4096);
  look_up<<<1, 32>>>(table, keys, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
