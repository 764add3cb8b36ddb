// A histogram in shared memory: values are not reduced to the number of bins.
__global__ void histogram(const unsigned* values, unsigned* counts, int n) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[values[i]], 1);  // ACCESS
  __syncthreads();
  counts[threadIdx.x] = bins[threadIdx.x];
}

int main() {
  const int n = 4096;
  unsigned host[n] = {}, *values, *counts;
  host[2000] = 5'000'000;
  cudaMalloc(&values, sizeof host);
  cudaMalloc(&counts, 256 * sizeof(unsigned));
  cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice);
  histogram<<<1, 256>>>(values, counts, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
