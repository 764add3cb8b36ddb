// The output of a scan is sized in elements, not bytes; the input needs no memory.
#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_scan.cuh>

int main() {
  const int n = 1 << 29;
  thrust::counting_iterator<int> numbers(0);
  int* sums;
  void* storage;
  size_t bytes = 0;
  cudaMalloc(&sums, n);  // ALLOC
  cub::DeviceScan::ExclusiveSum(nullptr, bytes, numbers, sums, n);
  cudaMalloc(&storage, bytes);
  cub::DeviceScan::ExclusiveSum(storage, bytes, numbers, sums, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
