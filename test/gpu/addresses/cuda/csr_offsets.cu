// The offsets of a sparse matrix are written as 32-bit numbers and read as 64-bit ones.
__global__ void row_sums(const long long* offsets, const float* values, float* sums) {
  long long begin = offsets[threadIdx.x];
  sums[threadIdx.x] = values[begin];  // ACCESS
}

int main() {
  const int rows = 32, per_row = 4;
  int host[2 * rows];
  for (int i = 0; i < 2 * rows; ++i) host[i] = i * per_row;
  long long* offsets;
  float *values, *sums;
  cudaMalloc(&offsets, sizeof host);
  cudaMalloc(&values, 2 * rows * per_row * sizeof(float));  // ALLOC
  cudaMalloc(&sums, rows * sizeof(float));
  cudaMemcpy(offsets, host, sizeof host, cudaMemcpyHostToDevice);
  row_sums<<<1, rows>>>(offsets, values, sums);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
