// One block in y for each item of a batch; y may not be larger than 65535.
__global__ void multiply(const float* matrices, const float* vectors, float* out, int width) {
  size_t item = blockIdx.y;
  out[item * width + threadIdx.x] = matrices[threadIdx.x] * vectors[item * width + threadIdx.x];
}

int main() {
  const int width = 32;
  float *matrices, *vectors, *out;
  cudaMalloc(&matrices, width * width * sizeof(float));
  cudaMalloc(&vectors, size_t(131072) * width * sizeof(float));
  cudaMalloc(&out, size_t(131072) * width * sizeof(float));
  for (unsigned batch : {1024, 65535, 65536}) {
    multiply<<<dim3(1, batch), width>>>(matrices, vectors, out, width);  // LAUNCH
    if (cudaGetLastError() != cudaSuccess) return 1;
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
