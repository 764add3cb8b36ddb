// The third launch argument was forgotten, so there is no dynamic shared memory.
__global__ void reverse(float* values, int n) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = values[i];  // ACCESS
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = tile[n - 1 - i];
}

int main() {
  const int n = 48 << 10;
  float* values;
  cudaMalloc(&values, n * sizeof(float));
  reverse<<<1, 1024>>>(values, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
