// The address of a local variable is passed to the kernel.
#include "needs.cuh"

struct Camera {
  float focal, aspect;
  int width, height;
};

__global__ void rays(const Camera* camera, float* out) {
  out[threadIdx.x] = threadIdx.x * camera->focal / camera->width;  // ACCESS
}

int main() {
  needs_no_pageable_access();
  Camera camera{35, 1.5f, 1920, 1280};
  float* out;
  cudaMalloc(&out, 4096);
  rays<<<1, 128>>>(&camera, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
