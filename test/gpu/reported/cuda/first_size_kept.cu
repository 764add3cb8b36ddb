// The size of the shared memory is computed once, for the first matrix; a later matrix has longer rows.
__global__ void row_sums(const float* x, int columns, float* out) {
  extern __shared__ float row[];
  for (int i = threadIdx.x; i < columns; i += blockDim.x) row[i] = x[size_t(blockIdx.x) * columns + i];  // ACCESS
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = row[0] + row[columns - 1];
}

bool run(int rows, int columns) {
  static const size_t shared_bytes = columns * sizeof(float);
  float *x, *out;
  cudaMalloc(&x, size_t(rows) * columns * sizeof(float));
  cudaMalloc(&out, rows * sizeof(float));
  cudaMemset(x, 0, size_t(rows) * columns * sizeof(float));
  row_sums<<<rows, 256, shared_bytes>>>(x, columns, out);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  if (!run(64, 1024)) return 77;
  return run(64, 51200) ? 0 : 1;
}
