// A sparse matrix for cuSPARSE: the descriptor promises indices of 64 bits, but both index arrays have 32 bits.
#include <cusparse.h>

#include <vector>

int main() {
  const int rows = 1 << 20, each = 4, entries = rows * each;
  std::vector<int> offsets(rows + 1), columns(entries);
  for (int i = 0; i <= rows; i++) offsets[i] = each * i;
  for (int i = 0; i < entries; i++) columns[i] = 16 + i % 47;
  int *row_offsets, *column_indices;
  float *values, *x, *y;
  cudaMalloc(&row_offsets, offsets.size() * sizeof(int));
  cudaMalloc(&column_indices, entries * sizeof(int));
  cudaMalloc(&values, entries * sizeof(float));
  cudaMalloc(&x, rows * sizeof(float));
  cudaMalloc(&y, rows * sizeof(float));
  cudaMemcpy(row_offsets, offsets.data(), offsets.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(column_indices, columns.data(), entries * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(values, 0, entries * sizeof(float));
  cudaMemset(x, 0, rows * sizeof(float));
  cusparseHandle_t handle;
  if (cusparseCreate(&handle) != CUSPARSE_STATUS_SUCCESS) return 77;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t in, out;
  cusparseCreateCsr(&matrix, rows, rows, entries, row_offsets, column_indices, values, CUSPARSE_INDEX_64I,
                    CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
  cusparseCreateDnVec(&in, rows, x, CUDA_R_32F);
  cusparseCreateDnVec(&out, rows, y, CUDA_R_32F);
  const float one = 1, zero = 0;
  size_t bytes = 0;
  void* buffer = nullptr;
  cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, CUDA_R_32F,
                          CUSPARSE_SPMV_ALG_DEFAULT, &bytes);
  if (bytes) cudaMalloc(&buffer, bytes);
  cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, CUDA_R_32F,  // LAUNCH
               CUSPARSE_SPMV_ALG_DEFAULT, buffer);                                                  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
