// The size of the dynamic shared memory is passed in elements, not bytes.
__global__ void block_sums(const double* values, double* sums, int n) {
  extern __shared__ double partial[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) partial[i] = values[i];  // ACCESS
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0] + partial[n - 1];
}

int main() {
  const int n = 16 << 10;
  double *values, *sums;
  cudaMalloc(&values, n * sizeof(double));
  cudaMalloc(&sums, 4096);
  block_sums<<<1, 256, n>>>(values, sums, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
