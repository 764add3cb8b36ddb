// A batch of products: the distance between the results is in bytes, but cuBLAS expects elements.
#include <cublas_v2.h>

int main() {
  const int n = 4096, batch = 4;
  const size_t matrix = size_t(n) * n;
  float *a, *b, *c, one = 1, zero = 0;
  cudaMalloc(&a, matrix * sizeof(float));
  cudaMalloc(&b, matrix * sizeof(float));
  cudaMalloc(&c, batch * matrix * sizeof(float));  // ALLOC
  cudaMemset(a, 0, matrix * sizeof(float));
  cudaMemset(b, 0, matrix * sizeof(float));
  cublasHandle_t blas;
  cublasCreate(&blas);
  cublasSgemmStridedBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, 0, b, n, 0, &zero, c, n,  // LAUNCH
                            matrix * sizeof(float), batch);                                                // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
