// The program asks for 256 KiB of shared memory, is refused, and takes a smaller tile. The program succeeds.
__global__ void stage(const float* in, float* out, int floats) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < floats; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < floats; i += blockDim.x) out[i] = tile[floats - 1 - i];
}

int main() {
  int bytes = 256 << 10;
  while (bytes > 48 << 10 &&
         cudaFuncSetAttribute(stage, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess) {
    cudaGetLastError();  // clears the error
    bytes /= 2;
  }
  float *in, *out;
  cudaMalloc(&in, bytes);
  cudaMalloc(&out, bytes);
  cudaMemset(in, 0, bytes);
  stage<<<1, 256, bytes>>>(in, out, bytes / sizeof(float));
  return cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess;
}
