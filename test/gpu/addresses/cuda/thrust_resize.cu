// A raw pointer into a vector is kept across a resize, which moves the memory.
#include <thrust/device_vector.h>

__global__ void raise(float* x) { x[threadIdx.x] += 1; }  // ACCESS

int main() {
  thrust::device_vector<float> x(32 << 20);  // ALLOC
  float* raw = thrust::raw_pointer_cast(x.data());
  raise<<<1, 64>>>(raw);
  x.resize(64 << 20);     // FREED
  raise<<<1, 64>>>(raw);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
