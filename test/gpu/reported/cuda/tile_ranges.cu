// Sorted keys of a rasterizer: keys of culled items have tile 0xffffffff, and the end of the last tile is not checked.
#include <vector>

__global__ void find_ranges(const unsigned long long* keys, int n, uint2* ranges) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned tile = keys[i] >> 32;
  unsigned before = i ? keys[i - 1] >> 32 : 0;
  bool culled = tile == 0xffffffffu;
  if (i && tile != before) ranges[before].y = i;
  if (!culled && (i == 0 || tile != before)) ranges[tile].x = i;
  if (i == n - 1) ranges[tile].y = n;  // ACCESS
}

int main() {
  const int n = 1 << 16, tiles = 1 << 16;
  std::vector<unsigned long long> host(n);
  for (int i = 0; i < n; i++) host[i] = i < n - 100 ? (unsigned long long)(i / 4) << 32 : ~0ull;
  unsigned long long* keys;
  uint2* ranges;
  cudaMalloc(&keys, n * sizeof(*keys));
  cudaMalloc(&ranges, tiles * sizeof(uint2));  // ALLOC
  cudaMemset(ranges, 0, tiles * sizeof(uint2));
  cudaMemcpy(keys, host.data(), n * sizeof(*keys), cudaMemcpyHostToDevice);
  find_ranges<<<n / 256, 256>>>(keys, n, ranges);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
