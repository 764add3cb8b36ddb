// A product with cuBLAS after the weights of the layer were released.
#include <cublas_v2.h>

int main() {
  const int n = 4096;
  const size_t bytes = size_t(n) * n * sizeof(float);
  float *weights, *input, *output;
  cudaMalloc(&weights, bytes);  // ALLOC
  cudaMalloc(&input, bytes);
  cudaMalloc(&output, bytes);
  cudaMemset(weights, 0, bytes);
  cudaMemset(input, 0, bytes);
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 77;
  const float one = 1, zero = 0;
  for (int step = 0; step < 2; step++) {
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, weights, n, input, n, &zero, output, n);  // LAUNCH
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    if (step == 0) cudaFree(weights);  // FREED
  }
  return 0;
}
