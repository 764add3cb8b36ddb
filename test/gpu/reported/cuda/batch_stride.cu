// A batch of products with cuBLAS: the distance between two results is kept in an int and becomes negative.
#include <cublas_v2.h>

int main() {
  const int rows = 65536, columns = 32768, inner = 16, batch = 2;
  const size_t size = size_t(rows) * columns;
  float *left, *right, *out;
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 77;
  cudaMalloc(&left, batch * rows * inner * sizeof(float));
  cudaMalloc(&right, batch * columns * inner * sizeof(float));
  if (cudaMalloc(&out, batch * size * sizeof(float)) != cudaSuccess) return 77;  // ALLOC
  cudaMemset(left, 0, batch * rows * inner * sizeof(float));
  cudaMemset(right, 0, batch * columns * inner * sizeof(float));
  const float one = 1, zero = 0;
  const int distance = int(size);
  cublasStatus_t status =                                                                                  // LAUNCH
      cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, rows, columns, inner, &one, left, rows,  // LAUNCH
                                rows * inner, right, inner, inner * columns, &zero, out, rows, distance,   // LAUNCH
                                batch);                                                                    // LAUNCH
  if (status != CUBLAS_STATUS_SUCCESS) return 77;
  return cudaDeviceSynchronize() != cudaSuccess;
}
