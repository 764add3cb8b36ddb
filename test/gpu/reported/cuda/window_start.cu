// Attention over a window: the first positions of a sequence have a window that starts before the cache.
__global__ void attend(const float* keys, const int* positions, int window, int width, float* out) {
  long long first = positions[blockIdx.x] - window;
  float sum = 0;
  for (int row = threadIdx.x; row < window; row += blockDim.x) sum += keys[(first + row) * width];  // ACCESS
  atomicAdd(&out[blockIdx.x], sum);
}

int main() {
  const int window = 65536, width = 1024;
  const size_t bytes = size_t(window) * width * sizeof(float);
  float *keys, *out;
  int host[4] = {65536, 40000, 128, 0}, *positions;
  cudaMalloc(&keys, bytes);  // ALLOC
  cudaMalloc(&out, sizeof host);
  cudaMalloc(&positions, sizeof host);
  cudaMemset(keys, 0, bytes);
  cudaMemset(out, 0, sizeof host);
  cudaMemcpy(positions, host, sizeof host, cudaMemcpyHostToDevice);
  attend<<<4, 256>>>(keys, positions, window, width, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
