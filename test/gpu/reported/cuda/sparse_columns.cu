// A sparse matrix times a vector with cuSPARSE: one column index was never set and is far too large.
#include <cusparse.h>

#include <vector>

template <class T>
T* on_device(const std::vector<T>& values) {
  T* copy;
  cudaMalloc(&copy, values.size() * sizeof(T));
  cudaMemcpy(copy, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return copy;
}

int main() {
  const int rows = 4096, columns = 1 << 20, per_row = 8;
  std::vector<int> starts(rows + 1), indices(rows * per_row);
  for (int r = 0; r <= rows; r++) starts[r] = r * per_row;
  for (int i = 0; i < rows * per_row; i++) indices[i] = i * 31 % columns;
  indices[9000] = 0x40000000;
  int *d_starts = on_device(starts), *d_indices = on_device(indices);
  float *values = on_device(std::vector<float>(rows * per_row, 1.0f)), *x, *y;
  cudaMalloc(&x, columns * sizeof(float));  // ALLOC
  cudaMalloc(&y, rows * sizeof(float));
  cudaMemset(x, 0, columns * sizeof(float));

  cusparseHandle_t handle;
  if (cusparseCreate(&handle) != CUSPARSE_STATUS_SUCCESS) return 77;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t in, out;
  cusparseCreateCsr(&matrix, rows, columns, rows * per_row, d_starts, d_indices, values, CUSPARSE_INDEX_32I,
                    CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
  cusparseCreateDnVec(&in, columns, x, CUDA_R_32F);
  cusparseCreateDnVec(&out, rows, y, CUDA_R_32F);
  const float one = 1, zero = 0;
  const auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  size_t bytes = 0;
  void* buffer;
  cusparseSpMV_bufferSize(handle, plain, &one, matrix, in, &zero, out, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes);
  cudaMalloc(&buffer, bytes + 16);
  cusparseSpMV(handle, plain, &one, matrix, in, &zero, out, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
