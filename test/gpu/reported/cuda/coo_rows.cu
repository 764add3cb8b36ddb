// A matrix of coordinates still has global rows, but its local part has a few thousand rows only.
#include <cusparse.h>

#include <vector>

int main() {
  const int rows = 4096, columns = 4096, entries = 1 << 20;
  std::vector<int> host(entries);
  for (int i = 0; i < entries; i++) host[i] = i / (entries / rows) + (i >= entries / 2 ? 1 << 28 : 0);
  int *row_of, *column_of;
  float *values, *x, *y;
  cudaMalloc(&row_of, entries * sizeof(int));
  cudaMalloc(&column_of, entries * sizeof(int));
  cudaMalloc(&values, entries * sizeof(float));
  cudaMalloc(&x, columns * sizeof(float));
  cudaMalloc(&y, rows * sizeof(float));  // ALLOC
  cudaMemcpy(row_of, host.data(), entries * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(column_of, 0, entries * sizeof(int));
  cudaMemset(values, 0, entries * sizeof(float));
  cudaMemset(x, 0, columns * sizeof(float));
  cudaMemset(y, 0, rows * sizeof(float));
  cusparseHandle_t handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t in, out;
  if (cusparseCreate(&handle) != CUSPARSE_STATUS_SUCCESS) return 77;
  cusparseCreateCoo(&matrix, rows, columns, entries, row_of, column_of, values, CUSPARSE_INDEX_32I,
                    CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
  cusparseCreateDnVec(&in, columns, x, CUDA_R_32F);
  cusparseCreateDnVec(&out, rows, y, CUDA_R_32F);
  const float one = 1, zero = 0;
  size_t bytes = 0;
  void* buffer = nullptr;
  cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, CUDA_R_32F,
                          CUSPARSE_SPMV_ALG_DEFAULT, &bytes);
  cudaMalloc(&buffer, bytes + 1);
  cusparseStatus_t status =                                                                             // LAUNCH
      cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, CUDA_R_32F,  // LAUNCH
                   CUSPARSE_SPMV_ALG_DEFAULT, buffer);                                                  // LAUNCH
  if (status != CUSPARSE_STATUS_SUCCESS) return 77;
  return cudaDeviceSynchronize() != cudaSuccess;
}
