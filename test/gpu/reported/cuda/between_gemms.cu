// A loop of products with cuBLAS; the program's own activation between them covers one batch too many.
#include <cublas_v2.h>

__global__ void relu(float* x, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    x[i] = x[i] > 0 ? x[i] : 0;  // ACCESS
}

int main() {
  const int n = 2048, layers = 12;
  const size_t matrix = size_t(n) * n;
  float *weights, *x, *y, one = 1, zero = 0;
  cudaMalloc(&weights, matrix * sizeof(float));
  cudaMalloc(&x, matrix * sizeof(float));  // ALLOC
  cudaMalloc(&y, matrix * sizeof(float));  // ALLOC
  cudaMemset(weights, 0, matrix * sizeof(float));
  cudaMemset(x, 0, matrix * sizeof(float));
  cublasHandle_t blas;
  cublasCreate(&blas);
  for (int layer = 0; layer < layers; layer++) {
    cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, weights, n, x, n, &zero, y, n);
    size_t elements = layer == 7 ? matrix * 512 : matrix;
    relu<<<1024, 256>>>(y, elements);  // LAUNCH
    float* next = x;
    x = y;
    y = next;
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
