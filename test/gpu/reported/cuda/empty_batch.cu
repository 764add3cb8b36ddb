// The last batch is empty, so its launch has no blocks.
__global__ void scale(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}

int main() {
  float* x;
  cudaMalloc(&x, 4096 * sizeof(float));
  cudaMemset(x, 0, 4096 * sizeof(float));
  for (int n : {4096, 100, 0}) {
    scale<<<(n + 255) / 256, 256>>>(x, n);  // LAUNCH
    if (cudaGetLastError() != cudaSuccess) return 1;
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
