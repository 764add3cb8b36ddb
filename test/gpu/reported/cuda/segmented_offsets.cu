// Sums of segments with CUB: an offset counts the elements of all batches, far past the end of this one.
#include <cub/device/device_segmented_reduce.cuh>

int main() {
  const int n = 1 << 20, segments = 3;
  long long host[segments + 1] = {0, 1000, 2'000'000'000, 2'000'001'000}, *offsets;
  float *values, *sums;
  void* storage = nullptr;
  size_t size = 0;
  cudaMalloc(&values, n * sizeof(float));  // ALLOC
  cudaMalloc(&sums, segments * sizeof(float));
  cudaMalloc(&offsets, sizeof host);
  cudaMemcpy(offsets, host, sizeof host, cudaMemcpyHostToDevice);
  cub::DeviceSegmentedReduce::Sum(storage, size, values, sums, segments, offsets, offsets + 1);
  cudaMalloc(&storage, size);
  cub::DeviceSegmentedReduce::Sum(storage, size, values, sums, segments, offsets, offsets + 1);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
