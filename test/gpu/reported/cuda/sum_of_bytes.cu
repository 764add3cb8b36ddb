// cub::DeviceReduce gets a number of bytes where it expects a number of items.
#include <cub/device/device_reduce.cuh>

int main() {
  const int bytes = 512 << 20;
  float *in, *out;
  cudaMalloc(&in, bytes);  // ALLOC
  cudaMalloc(&out, sizeof(float));
  cudaMemset(in, 0, bytes);
  size_t storage_bytes = 0;
  void* storage = nullptr;
  cub::DeviceReduce::Sum(storage, storage_bytes, in, out, bytes);
  cudaMalloc(&storage, storage_bytes);
  cub::DeviceReduce::Sum(storage, storage_bytes, in, out, bytes);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
