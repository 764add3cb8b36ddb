// An object with virtual functions is constructed on the host, so its vtable is the host's.
#include "needs.cuh"

struct Shape {
  __host__ __device__ virtual float area() const = 0;
};

struct Square : Shape {
  float side = 2;
  __host__ __device__ float area() const override { return side * side; }
};

struct Disc : Shape {
  float radius = 1;
  __host__ __device__ float area() const override { return 3.14159f * radius * radius; }
};

__global__ void areas(const Shape* const* shapes, float* out) {
  out[threadIdx.x] = shapes[threadIdx.x]->area();  // ACCESS
}

template <typename T>
static const Shape* copied(const T& shape) {
  void* there;
  cudaMalloc(&there, sizeof(T));
  cudaMemcpy(there, static_cast<const void*>(&shape), sizeof(T), cudaMemcpyHostToDevice);
  return static_cast<const T*>(there);
}

int main() {
  needs_no_pageable_access();
  const Shape *host[2] = {copied(Square()), copied(Disc())}, **shapes;
  float* out;
  cudaMalloc(&shapes, sizeof host);
  cudaMalloc(&out, 4096);
  cudaMemcpy(shapes, host, sizeof host, cudaMemcpyHostToDevice);
  areas<<<1, 2>>>(shapes, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
