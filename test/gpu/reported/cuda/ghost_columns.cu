// The matrix of a rank also has columns of its neighbours, but the vector holds the values of its own columns only.
#include <cusparse.h>

#include <vector>

int main() {
  const int rows = 1 << 16, per_row = 16, entries = rows * per_row, own_columns = 1 << 20, first_ghost = 1 << 28;
  std::vector<int> offsets(rows + 1), columns(entries);
  for (int i = 0; i <= rows; i++) offsets[i] = i * per_row;
  for (int i = 0; i < entries; i++) columns[i] = i % per_row < 12 ? i % own_columns : first_ghost + i % 4096;
  int *row_offsets, *column_of;
  float *values, *x, *y;
  cudaMalloc(&row_offsets, offsets.size() * sizeof(int));
  cudaMalloc(&column_of, entries * sizeof(int));
  cudaMalloc(&values, entries * sizeof(float));
  cudaMalloc(&y, rows * sizeof(float));
  cudaMalloc(&x, own_columns * sizeof(float));  // ALLOC
  cudaMemcpy(row_offsets, offsets.data(), offsets.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(column_of, columns.data(), entries * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(values, 0, entries * sizeof(float));
  cudaMemset(x, 0, own_columns * sizeof(float));
  cusparseHandle_t handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t in, out;
  if (cusparseCreate(&handle) != CUSPARSE_STATUS_SUCCESS) return 77;
  const int all_columns = first_ghost + 4096;
  cusparseCreateCsr(&matrix, rows, all_columns, entries, row_offsets, column_of, values, CUSPARSE_INDEX_32I,
                    CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
  cusparseCreateDnVec(&in, all_columns, x, CUDA_R_32F);
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
