// One key of a histogram is far too large.
#include <vector>

__global__ void count_keys(const int* keys, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[keys[i]], 1);  // ACCESS
}

int main() {
  const int n = 1 << 12;
  std::vector<int> host(n, 3);
  host[100] = 900'000'000;
  int *keys, *bins;
  cudaMalloc(&keys, n * sizeof(int));
  cudaMalloc(&bins, 256 * sizeof(int));  // ALLOC
  cudaMemcpy(keys, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  count_keys<<<n / 256, 256>>>(keys, bins, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
