// Sixteen blocks for eight matrices: the rest of the table is null.
__global__ void copy_heads(const float* const* matrices, float* heads) {
  heads[blockIdx.x] = matrices[blockIdx.x][0];  // ACCESS
}

int main() {
  const float *host[8], **matrices;
  float* heads;
  for (const float*& matrix : host) cudaMalloc(&matrix, 4096);
  cudaMalloc(&matrices, 4096);
  cudaMalloc(&heads, 4096);
  cudaMemset(matrices, 0, 4096);
  cudaMemcpy(matrices, host, sizeof host, cudaMemcpyHostToDevice);
  copy_heads<<<8, 1>>>(matrices, heads);
  copy_heads<<<16, 1>>>(matrices, heads);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
