// The result of a matrix product is allocated for one row.
#include <cublas_v2.h>

int main() {
  const int n = 32768, k = 64;
  float *a, *b, *c, one = 1, zero = 0;
  cudaMalloc(&a, n * k * sizeof(float));
  cudaMalloc(&b, n * k * sizeof(float));
  cudaMalloc(&c, n * sizeof(float));  // ALLOC
  cublasHandle_t handle;
  cublasCreate(&handle);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, k, &one, a, n, b, k, &zero, c, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
