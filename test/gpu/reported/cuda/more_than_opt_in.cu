// Tiles for large heads need more dynamic shared memory than a block can have, and the attribute is refused.
__global__ void attend(const float* x, float* out, int width) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < width; i += blockDim.x) tile[i] = x[blockIdx.x * width + i];
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = tile[0] + tile[width - 1];
}

bool run(const float* x, float* out, int head, int stages) {
  const int bytes = 64 * head * stages * sizeof(float);
  cudaError_t error = cudaFuncSetAttribute(attend, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);  // LAUNCH
  if (error != cudaSuccess) return false;
  attend<<<64, 128, bytes>>>(x, out, head);
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  float *x, *out;
  cudaMalloc(&x, 64 * 512 * sizeof(float));
  cudaMalloc(&out, 64 * sizeof(float));
  cudaMemset(x, 0, 64 * 512 * sizeof(float));
  if (!run(x, out, 128, 4)) return 77;
  return run(x, out, 512, 2) ? 0 : 1;
}
