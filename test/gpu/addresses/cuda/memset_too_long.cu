// The byte count of a memset is multiplied by the element size twice.
#include <cstddef>

int main() {
  const size_t n = 1 << 24;
  double* sums;
  cudaMalloc(&sums, n * sizeof(double));                                     // ALLOC
  cudaError_t e = cudaMemset(sums, 0, n * sizeof(double) * sizeof(double));  // LAUNCH
  return e != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess;
}
