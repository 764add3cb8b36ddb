// A cache has blocks of 16 tokens; the kernel gets the stride of blocks of 528 tokens.
__global__ void store_keys(float* cache, const float* keys, const int* block_of, size_t block_stride, int width) {
  cache[block_of[blockIdx.x] * block_stride + threadIdx.x] = keys[blockIdx.x * width + threadIdx.x];  // ACCESS
}

int main() {
  const int blocks = 4096, tokens = 16, width = 1024, batch = 8;
  int host[batch] = {0, 1, 7, 100, 1024, 2048, 3000, 4000}, *block_of;
  float *cache, *keys;
  cudaMalloc(&cache, size_t(blocks) * tokens * width * sizeof(float));  // ALLOC
  cudaMalloc(&keys, batch * width * sizeof(float));
  cudaMalloc(&block_of, sizeof host);
  cudaMemcpy(block_of, host, sizeof host, cudaMemcpyHostToDevice);
  size_t block_stride = size_t(528) * width;
  store_keys<<<batch, width>>>(cache, keys, block_of, block_stride, width);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
