// The numbers of selected items go to a buffer for a sixteenth of the items; one day, all items are selected.
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>

#include <cstdio>

struct IsSelected {
  const char* flags;
  __device__ bool operator()(int item) const { return flags[item]; }
};

int main() {
  const int n = 512 << 20, expected = n / 16;
  char* flags;
  int* selected;
  cudaMalloc(&flags, n);
  cudaMemset(flags, 1, n);
  if (cudaMalloc(&selected, expected * sizeof(int)) != cudaSuccess) return 77;  // ALLOC
  auto items = thrust::make_counting_iterator(0);
  try {
    int* end = thrust::copy_if(thrust::device, items, items + n, selected, IsSelected{flags});  // LAUNCH
    cudaDeviceSynchronize();                                                                    // LAUNCH
    std::printf("%td items\n", end - selected);
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
