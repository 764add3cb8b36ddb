// The number of bytes of a memset is computed twice: elements times size times size.
#include <cstddef>

int main() {
  const size_t n = 1 << 24;
  double* sums;
  cudaMalloc(&sums, n * sizeof(double));                                     // ALLOC
  cudaError_t e = cudaMemset(sums, 0, n * sizeof(double) * sizeof(double));  // LAUNCH
  return e != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess;
}
