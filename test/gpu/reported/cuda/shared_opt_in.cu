// Dynamic shared memory of 96 KiB, without the attribute that allows more than 48 KiB.
__global__ void stage(const float* in, float* out, int floats) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < floats; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < floats; i += blockDim.x) out[i] = tile[floats - 1 - i];
}

int main() {
  float *in, *out;
  cudaMalloc(&in, 96 << 10);
  cudaMalloc(&out, 96 << 10);
  cudaMemset(in, 0, 96 << 10);
  for (int bytes : {32 << 10, 96 << 10}) {
    stage<<<1, 256, bytes>>>(in, out, bytes / sizeof(float));  // LAUNCH
    if (cudaGetLastError() != cudaSuccess) return 1;
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
