// thrust::gather with a map that has one index far outside of the source.
#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/system/cuda/execution_policy.h>

#include <vector>

int main() {
  const int n = 1 << 20;
  const size_t source_bytes = 64 << 20;
  std::vector<int> order(n);
  for (int i = 0; i < n; i++) order[i] = i * 7 % n;
  order[12345] = 1 << 30;
  int* map;
  float *source, *sorted;
  cudaMalloc(&map, n * sizeof(int));
  cudaMalloc(&source, source_bytes);  // ALLOC
  cudaMalloc(&sorted, n * sizeof(float));
  cudaMemset(source, 0, source_bytes);
  cudaMemcpy(map, order.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  thrust::gather(thrust::cuda::par_nosync, map, map + n, source, sorted);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
