// The limit of shared memory is raised once for each process, and a reset of the device lowers it again.
extern __shared__ float tile[];

__global__ void smooth(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = x[blockIdx.x * n + i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[blockIdx.x * n + i] = 0.5f * (tile[i] + tile[n - 1 - i]);
}

bool run() {
  static bool limit_raised = false;
  const int n = 24 << 10, blocks = 16;
  const size_t shared_bytes = n * sizeof(float);
  if (!limit_raised)
    cudaFuncSetAttribute(smooth, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  limit_raised = true;
  float* x;
  if (cudaMalloc(&x, blocks * shared_bytes) != cudaSuccess) return false;
  cudaMemset(x, 0, blocks * shared_bytes);
  smooth<<<blocks, 256, shared_bytes>>>(x, n);  // LAUNCH
  const bool worked = cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess;
  cudaFree(x);
  return worked;
}

int main() {
  if (!run()) return 77;
  if (cudaDeviceReset() != cudaSuccess) return 77;
  return run() ? 0 : 1;
}
