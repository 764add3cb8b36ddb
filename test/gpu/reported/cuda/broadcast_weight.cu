// One weight serves all matrices of a batch, with a stride of zero.
#include <cublas_v2.h>

int main() {
  const int rows = 16, inner = 1024, columns = 1024, batch = 512;
  float *inputs, *weight, *outputs;
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 77;
  cudaMalloc(&inputs, sizeof(float) * batch * rows * inner);
  cudaMalloc(&outputs, sizeof(float) * batch * rows * columns);
  cudaMalloc(&weight, sizeof(float) * inner * columns);
  cudaMemset(inputs, 0, sizeof(float) * batch * rows * inner);
  cudaMemset(weight, 0, sizeof(float) * inner * columns);
  const float one = 1, zero = 0;
  const long long same_weight = 0;
  for (int step = 0; step < 3; step++) {
    if (cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, rows, columns, inner, &one, inputs, rows,
                                  rows * inner, weight, inner, same_weight, &zero, outputs, rows, rows * columns,
                                  batch) != CUBLAS_STATUS_SUCCESS)
      return 77;
  }
  const bool worked = cudaDeviceSynchronize() == cudaSuccess;
  cudaFree(inputs);
  cudaFree(outputs);
  cudaFree(weight);
  cublasDestroy(handle);
  return worked ? 0 : 77;
}
