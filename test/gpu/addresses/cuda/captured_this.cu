// A lambda in a member function captures `this`, which is a host object.
#include <memory>

#include "needs.cuh"

template <typename Function>
__global__ void for_each(int n, Function function) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) function(i);
}

struct Particles {
  int n;
  float *x, *v;
  void advance(float dt) {
    for_each<<<n / 256, 256>>>(n, [=] __device__(int i) { x[i] += v[i] * dt; });  // LAUNCH, ACCESS
  }
};

int main() {
  needs_no_pageable_access();
  auto particles = std::make_unique<Particles>();
  particles->n = 1 << 16;
  cudaMalloc(&particles->x, particles->n * sizeof(float));
  cudaMalloc(&particles->v, particles->n * sizeof(float));
  particles->advance(0.1f);
  return cudaDeviceSynchronize() != cudaSuccess;
}
