// A product with cuBLAS: the leading dimension of the first matrix is in bytes.
#include <cublas_v2.h>

int main() {
  const int n = 4096;
  const size_t bytes = size_t(n) * n * sizeof(double);
  double *left, *right, *out;
  cudaMalloc(&left, bytes);  // ALLOC
  cudaMalloc(&right, bytes);
  cudaMalloc(&out, bytes);
  cudaMemset(left, 0, bytes);
  cudaMemset(right, 0, bytes);
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 77;
  const double one = 1, zero = 0;
  const int leading = n * sizeof(double);
  cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, left, leading, right, n, &zero, out, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
