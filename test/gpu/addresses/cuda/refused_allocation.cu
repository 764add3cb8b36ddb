// The allocation of a pyramid's last level fails, no one checks it, and its pointer stays null.
#include <cstddef>

__global__ void clear_level(float* level, size_t n) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) level[i] = 0;  // ACCESS
}

static float* allocate_level(size_t n) {
  float* level = nullptr;
  cudaMalloc(&level, n * sizeof(float));  // REFUSED
  return level;
}

int main() {
  const size_t sizes[] = {1 << 16, 1 << 20, size_t(1) << 44};
  float* levels[3];
  for (int i = 0; i < 3; ++i) levels[i] = allocate_level(sizes[i]);
  for (int i = 0; i < 3; ++i) clear_level<<<256, 256>>>(levels[i], 1 << 16);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
