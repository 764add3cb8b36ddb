// Correct: the program tries a huge buffer first, takes a smaller one when it is refused, and clears the error.
__global__ void fill(float* x, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) x[i] = 1;
}

int main() {
  float* cache = nullptr;
  size_t bytes = size_t(1) << 46;
  while (cudaMalloc(&cache, bytes) != cudaSuccess) {
    cudaGetLastError();
    bytes = bytes > size_t(1) << 30 ? size_t(1) << 30 : bytes / 2;
  }
  fill<<<256, 256>>>(cache, bytes / sizeof(float));
  return cudaDeviceSynchronize() != cudaSuccess;
}
