// A cooperative kernel gets one block for each chunk of tokens, more than can run at the same time.
__global__ void gate(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

int main() {
  const int threads = 1024, most = 1 << 15;
  float* x;
  cudaMalloc(&x, size_t(most) * threads * sizeof(float));
  void* arguments[] = {&x};
  for (int chunks : {16, 64, most}) {
    if (cudaLaunchCooperativeKernel(gate, dim3(chunks), dim3(threads), arguments)) return 1;  // LAUNCH
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
