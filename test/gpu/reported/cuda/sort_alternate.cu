// A sort with two buffers for the keys gets a second one that has room for a quarter of them.
#include <cub/device/device_radix_sort.cuh>

struct Sorter {
  unsigned* keys = nullptr;
  unsigned* alternate = nullptr;
  void* temporary = nullptr;
  size_t temporary_bytes = 0;

  cudaError_t sort(int n) {
    cub::DoubleBuffer<unsigned> buffers(keys, alternate);
    return cub::DeviceRadixSort::SortKeys(temporary, temporary_bytes, buffers, n);  // LAUNCH
  }
};

int main() {
  const int n = 64 << 20;
  Sorter sorter;
  void *before, *after;
  if (sorter.sort(n) != cudaSuccess) return 77;
  cudaMalloc(&sorter.keys, n * sizeof(unsigned));
  cudaMalloc(&sorter.temporary, sorter.temporary_bytes);
  cudaMalloc(&before, size_t(1) << 30);
  cudaMalloc(&sorter.alternate, n / 4 * sizeof(unsigned));  // ALLOC
  cudaMalloc(&after, size_t(1) << 30);
  cudaMemset(sorter.keys, 0, n * sizeof(unsigned));
  cudaFree(before);
  cudaFree(after);
  if (sorter.sort(n / 4) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) return 77;
  if (sorter.sort(n) != cudaSuccess) return 1;
  return cudaDeviceSynchronize() != cudaSuccess;
}
