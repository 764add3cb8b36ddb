// A lambda in a member function captures the address of its object on the host instead of the members.
#include "../../addresses/cuda/needs.cuh"

template <class Function>
__global__ void for_each(Function function, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) function(i);
}

class Pipeline {
 public:
  explicit Pipeline(int n) : n(n) { cudaMalloc(&values, n * sizeof(float)); }
  void clear() {
    float* local = values;
    for_each<<<n / 256, 256>>>([local] __device__(int i) { local[i] = 0; }, n);
  }
  void number() {
    auto set = [=] __device__(int i) { values[i] = i; };  // ACCESS
    for_each<<<n / 256, 256>>>(set, n);                   // LAUNCH
  }

 private:
  float* values;
  int n;
};

int main() {
  needs_no_pageable_access();
  Pipeline pipeline(1 << 20);
  pipeline.clear();
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  pipeline.number();
  return cudaDeviceSynchronize() != cudaSuccess;
}
