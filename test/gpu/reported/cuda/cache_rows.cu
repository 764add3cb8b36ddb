// Keys are copied to the rows of a cache with wide stores; only the alignment of the source is checked.
#include <cuda_fp16.h>

#include <cstdint>

__global__ void store_rows(const __half* keys, __half* cache, const int* slots, int size) {
  const __half* from = keys + blockIdx.x * size;
  __half* to = cache + slots[blockIdx.x] * size;
  int wide = reinterpret_cast<uintptr_t>(from) % 16 == 0 ? size / 8 : 0;
  for (int i = threadIdx.x; i < wide; i += blockDim.x)
    reinterpret_cast<int4*>(to)[i] = reinterpret_cast<const int4*>(from)[i];  // ACCESS
  for (int i = 8 * wide + threadIdx.x; i < size; i += blockDim.x) to[i] = from[i];
}

bool run(int size) {
  const int tokens = 8, rows = 4096;
  const int host[tokens] = {3, 17, 5, 260, 99, 1023, 11, 7};
  __half *keys, *cache;
  int* slots;
  cudaMalloc(&keys, tokens * size * sizeof(__half));
  cudaMalloc(&cache, rows * size * sizeof(__half));
  cudaMalloc(&slots, sizeof host);
  cudaMemset(keys, 0, tokens * size * sizeof(__half));
  cudaMemcpy(slots, host, sizeof host, cudaMemcpyHostToDevice);
  store_rows<<<tokens, 32>>>(keys, cache, slots, size);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  if (!run(64)) return 77;
  return run(46) ? 0 : 1;
}
