// Row and column are swapped in the index of a flat matrix.
__global__ void sum_columns(const float* matrix, float* sums, size_t rows, size_t columns) {
  size_t column = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (column >= columns) return;
  float sum = 0;
  for (size_t row = 0; row < rows; ++row) sum += matrix[column * columns + row];  // ACCESS
  sums[column] = sum;
}

int main() {
  const size_t rows = 64, columns = 1 << 20;
  float *matrix, *sums;
  cudaMalloc(&matrix, rows * columns * sizeof(float));  // ALLOC
  cudaMalloc(&sums, columns * sizeof(float));
  sum_columns<<<columns / 256, 256>>>(matrix, sums, rows, columns);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
