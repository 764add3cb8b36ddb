// Sorting with CUB: the temporary storage was allocated for the first, small batch.
#include <cub/device/device_radix_sort.cuh>

int main() {
  const int small = 4096, large = 64 << 20;
  unsigned *keys, *sorted;
  void* storage = nullptr;
  size_t size = 0;
  cudaMalloc(&keys, large * sizeof(unsigned));
  cudaMalloc(&sorted, large * sizeof(unsigned));
  cudaMemset(keys, 0x5a, large * sizeof(unsigned));
  cub::DeviceRadixSort::SortKeys(storage, size, keys, sorted, small);
  cudaMalloc(&storage, size);  // ALLOC
  cub::DeviceRadixSort::SortKeys(storage, size, keys, sorted, small);
  cub::DeviceRadixSort::SortKeys(nullptr, size, keys, sorted, large);
  cub::DeviceRadixSort::SortKeys(storage, size, keys, sorted, large);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
