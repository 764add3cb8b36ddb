// Sorting with CUB: the temporary storage was allocated for the first, small batch.
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

int main() {
  const int small = 4096, large = 64 << 20;
  const size_t chunk = 4 << 20;
  unsigned *keys, *sorted;
  char* storages[2];
  cudaMalloc(&storages[0], chunk);  // ALLOC
  cudaMalloc(&keys, large * sizeof(unsigned));
  cudaMalloc(&sorted, large * sizeof(unsigned));
  cudaMalloc(&storages[1], chunk);                     // ALLOC
  void* storage = std::max(storages[0], storages[1]);  // an overrun of the other one stays in keys and sorted
  cudaMemset(keys, 0x5a, large * sizeof(unsigned));
  size_t size = chunk;
  cub::DeviceRadixSort::SortKeys(storage, size, keys, sorted, small);
  cub::DeviceRadixSort::SortKeys(nullptr, size, keys, sorted, large);
  cub::DeviceRadixSort::SortKeys(storage, size, keys, sorted, large);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
