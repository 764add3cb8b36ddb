// The device policy is used with iterators of a host vector.
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <vector>

#include "needs.cuh"

struct Twice {
  __host__ __device__ float operator()(float x) const { return 2 * x; }
};

int main() {
  needs_no_pageable_access();
  std::vector<float> host(1 << 16, 1);
  thrust::device_vector<float> out(1 << 16);
  float* first = host.data();
  thrust::transform(thrust::device, first, first + host.size(), out.begin(), Twice());  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
