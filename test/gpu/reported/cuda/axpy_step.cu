// A column of a matrix was copied and is contiguous now, but cuBLAS still gets the step of the matrix.
#include <cublas_v2.h>

struct Vector {
  float* data;
  int size, step;
};

Vector copy_of_column(const Vector& column) {
  Vector copy = column;
  cudaMalloc(&copy.data, column.size * sizeof(float));  // ALLOC
  cudaMemcpy2D(copy.data, sizeof(float), column.data, column.step * sizeof(float), sizeof(float), column.size,
               cudaMemcpyDeviceToDevice);
  return copy;
}

int main() {
  const int rows = 1 << 20, columns = 512;
  const float factor = 0.5f;
  float *matrix, *sums;
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 77;
  cudaMalloc(&matrix, size_t(rows) * columns * sizeof(float));
  cudaMalloc(&sums, rows * sizeof(float));
  cudaMemset(matrix, 0, size_t(rows) * columns * sizeof(float));
  cudaMemset(sums, 0, rows * sizeof(float));
  Vector column = {matrix + 7, rows, columns};
  if (cublasSaxpy(handle, rows, &factor, column.data, column.step, sums, 1) != CUBLAS_STATUS_SUCCESS) return 77;
  Vector copy = copy_of_column(column);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  cudaFree(matrix);
  if (cublasSaxpy(handle, rows, &factor, copy.data, copy.step, sums, 1) != CUBLAS_STATUS_SUCCESS) return 77;  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
