// The flags describe one chunk of the items, and the selection visits the items of all chunks.
#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_select.cuh>

struct Selection {
  int *out = nullptr, *count = nullptr;
  void* storage = nullptr;
  size_t bytes = 0;

  bool run(const char* flags, int items) {
    const thrust::counting_iterator<int> numbers(0);
    return cub::DeviceSelect::Flagged(storage, bytes, numbers, flags, out, count, items) == cudaSuccess &&  // LAUNCH
           cudaDeviceSynchronize() == cudaSuccess;
  }
};

int main() {
  const int chunk = 4 << 20, all = 1 << 30;
  char* flags = nullptr;
  Selection selection;
  cub::DeviceSelect::Flagged(nullptr, selection.bytes, thrust::counting_iterator<int>(0), flags, selection.out,
                             selection.count, all);
  cudaMalloc(&selection.storage, selection.bytes);
  cudaMalloc(&selection.out, chunk * sizeof(int));
  cudaMalloc(&selection.count, sizeof(int));
  cudaMalloc(&flags, chunk);  // ALLOC
  cudaMemset(flags, 0, chunk);
  if (!selection.run(flags, chunk)) return 77;
  return selection.run(flags, all) ? 0 : 1;
}
