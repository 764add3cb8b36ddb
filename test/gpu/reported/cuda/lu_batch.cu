// Factors of a batch of matrices with cuBLAS: the table still has a matrix that was freed.
#include <cublas_v2.h>

int main() {
  const int n = 1536, batch = 4;
  float *host[batch], **matrices;
  int *pivots, *info;
  for (float*& matrix : host) {
    cudaMalloc(&matrix, n * n * sizeof(float));  // ALLOC
    cudaMemset(matrix, 1, n * n * sizeof(float));
  }
  cudaMalloc(&matrices, sizeof host);
  cudaMalloc(&pivots, n * batch * sizeof(int));
  cudaMalloc(&info, batch * sizeof(int));
  cudaMemcpy(matrices, host, sizeof host, cudaMemcpyHostToDevice);
  cublasHandle_t blas;
  cublasCreate(&blas);
  cublasSgetrfBatched(blas, n, matrices, n, pivots, info, batch);
  cudaFree(host[2]);                                               // FREED
  cublasSgetrfBatched(blas, n, matrices, n, pivots, info, batch);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
