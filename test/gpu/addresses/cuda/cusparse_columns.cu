// A sparse matrix whose last column index was never written.
#include <cusparse.h>

#include <vector>

int main() {
  const int rows = 1024, columns = 1024, per_row = 4;
  std::vector<int> offsets(rows + 1), indices(rows * per_row);
  for (int i = 0; i <= rows; ++i) offsets[i] = i * per_row;
  for (int i = 0; i < rows * per_row; ++i) indices[i] = i % columns;
  indices.back() = 0x5eadbeef;
  int *offsets_there, *indices_there;
  float *values, *x, *y, one = 1, zero = 0;
  cudaMalloc(&offsets_there, offsets.size() * sizeof(int));
  cudaMalloc(&indices_there, indices.size() * sizeof(int));
  cudaMalloc(&values, indices.size() * sizeof(float));
  cudaMalloc(&x, columns * sizeof(float));  // ALLOC
  cudaMalloc(&y, rows * sizeof(float));
  cudaMemcpy(offsets_there, offsets.data(), offsets.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(indices_there, indices.data(), indices.size() * sizeof(int), cudaMemcpyHostToDevice);
  cusparseHandle_t handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t in, out;
  cusparseCreate(&handle);
  cusparseCreateCsr(&matrix, rows, columns, indices.size(), offsets_there, indices_there, values, CUSPARSE_INDEX_32I,
                    CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
  cusparseCreateDnVec(&in, columns, x, CUDA_R_32F);
  cusparseCreateDnVec(&out, rows, y, CUDA_R_32F);
  size_t bytes = 0;
  void* buffer;
  cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, CUDA_R_32F,
                          CUSPARSE_SPMV_ALG_DEFAULT, &bytes);
  cudaMalloc(&buffer, bytes);
  cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, CUDA_R_32F,  // LAUNCH
               CUSPARSE_SPMV_ALG_DEFAULT, buffer);
  return cudaDeviceSynchronize() != cudaSuccess;
}
