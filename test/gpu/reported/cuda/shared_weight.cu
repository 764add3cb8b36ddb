// One weight serves all matrices of a batch, but its stride is that of a separate weight for each of them.
#include <cublas_v2.h>

struct Shapes {
  int rows = 16, inner = 1024, columns = 1024;
};

cublasStatus_t multiply(cublasHandle_t handle, const Shapes& of, const float* inputs, const float* weight,
                        float* outputs, int batch) {
  const float one = 1, zero = 0;
  return cublasSgemmStridedBatched(                                                         // LAUNCH
      handle, CUBLAS_OP_N, CUBLAS_OP_N, of.rows, of.columns, of.inner, &one,                // LAUNCH
      inputs, of.rows, of.rows * of.inner, weight, of.inner, of.inner * of.columns, &zero,  // LAUNCH
      outputs, of.rows, of.rows * of.columns, batch);                                       // LAUNCH
}

int main() {
  const Shapes shapes;
  const int batch = 512;
  float *inputs, *weight, *outputs;
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 77;
  cudaMalloc(&inputs, sizeof(float) * batch * shapes.rows * shapes.inner);
  cudaMalloc(&outputs, sizeof(float) * batch * shapes.rows * shapes.columns);
  cudaMalloc(&weight, sizeof(float) * shapes.inner * shapes.columns);  // ALLOC
  cudaMemset(inputs, 0, sizeof(float) * batch * shapes.rows * shapes.inner);
  cudaMemset(weight, 0, sizeof(float) * shapes.inner * shapes.columns);
  if (multiply(handle, shapes, inputs, weight, outputs, 1) != CUBLAS_STATUS_SUCCESS) return 77;
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  if (multiply(handle, shapes, inputs, weight, outputs, batch) != CUBLAS_STATUS_SUCCESS) return 1;
  return cudaDeviceSynchronize() != cudaSuccess;
}
