// CUB scans and sorts around the program's own kernel, which adds a total to each place.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

__global__ void compact(const int* values, const int* places, long long total, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[places[i] + total] = values[i];  // ACCESS
}

int main() {
  const int n = 1 << 20;
  int *values, *flags, *places, *out;
  void *scan = nullptr, *sort = nullptr;
  size_t scan_size = 0, sort_size = 0;
  for (int** buffer : {&values, &flags, &places, &out}) {
    cudaMalloc(buffer, n * sizeof(int));  // ALLOC
    cudaMemset(*buffer, 0, n * sizeof(int));
  }
  cub::DeviceScan::ExclusiveSum(scan, scan_size, flags, places, n);
  cub::DeviceRadixSort::SortKeys(sort, sort_size, out, values, n);
  cudaMalloc(&scan, scan_size);
  cudaMalloc(&sort, sort_size);
  for (int round = 0; round < 6; round++) {
    cub::DeviceScan::ExclusiveSum(scan, scan_size, flags, places, n);
    long long total = round == 4 ? 1LL << 32 : 0;
    compact<<<n / 256, 256>>>(values, places, total, out, n);  // LAUNCH
    cub::DeviceRadixSort::SortKeys(sort, sort_size, out, values, n);
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
