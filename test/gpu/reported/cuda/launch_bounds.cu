// A kernel promises at most 256 threads in a block and is launched with 512.
__global__ void __launch_bounds__(256) attention(float* out, float scale) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = scale * threadIdx.x;
}

int main() {
  float* out;
  cudaMalloc(&out, 8 * 512 * sizeof(float));
  attention<<<8, 256>>>(out, 0.1f);
  attention<<<8, 512>>>(out, 0.1f);  // LAUNCH
  if (cudaGetLastError() != cudaSuccess) return 1;
  return cudaDeviceSynchronize() != cudaSuccess;
}
