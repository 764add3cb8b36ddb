// A scratch buffer is released in the order of one stream; another stream uses it later, without waiting.
__global__ void fill(float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = 1;
}

__global__ void total(const float* x, int n, float* sum) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];  // ACCESS
  atomicAdd(sum, mine);
}

int main() {
  const int n = 16 << 20;
  cudaStream_t compute, statistics;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&statistics, cudaStreamNonBlocking);
  float *scratch, *sum;
  cudaMalloc(&sum, sizeof(float));
  if (cudaMallocAsync(&scratch, n * sizeof(float), compute) != cudaSuccess) return 77;  // ALLOC
  fill<<<256, 256, 0, compute>>>(scratch, n);
  cudaFreeAsync(scratch, compute);  // FREED
  cudaStreamSynchronize(compute);
  cudaMemPool_t pool;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaMemPoolTrimTo(pool, 0);
  total<<<256, 256, 0, statistics>>>(scratch, n, sum);  // LAUNCH
  return cudaStreamSynchronize(statistics) != cudaSuccess;
}
