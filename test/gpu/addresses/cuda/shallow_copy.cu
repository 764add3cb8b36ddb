// A structure is copied to the GPU; the array that it points to is not.
#include <vector>

#include "needs.cuh"

struct Mesh {
  int vertices;
  float* x;
};

__global__ void move_mesh(Mesh* mesh, float by) {
  for (int i = threadIdx.x; i < mesh->vertices; i += blockDim.x) mesh->x[i] += by;  // ACCESS
}

int main() {
  needs_no_pageable_access();
  std::vector<float> x(1 << 20);
  Mesh host{1 << 20, x.data()}, *mesh;
  cudaMalloc(&mesh, sizeof host);
  cudaMemcpy(mesh, &host, sizeof host, cudaMemcpyHostToDevice);
  move_mesh<<<1, 256>>>(mesh, 1);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
