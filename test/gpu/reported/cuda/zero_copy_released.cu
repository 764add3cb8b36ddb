// A kernel reads pinned memory of the host in place; the host has given it back already.
__global__ void total(const float* x, int n, float* sum) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];  // ACCESS
  atomicAdd(sum, mine);
}

int main() {
  const int n = 8 << 20;
  float *pinned, *mapped, *sum;
  cudaMalloc(&sum, sizeof(float));
  if (cudaHostAlloc(&pinned, n * sizeof(float), cudaHostAllocMapped) != cudaSuccess) return 77;  // ALLOC
  for (int i = 0; i < n; i++) pinned[i] = 1;
  cudaHostGetDevicePointer(&mapped, pinned, 0);
  total<<<256, 256>>>(mapped, n, sum);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  cudaFreeHost(pinned);                 // FREED
  total<<<256, 256>>>(mapped, n, sum);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
