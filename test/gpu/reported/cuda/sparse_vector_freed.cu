// A solver keeps a descriptor of a vector whose memory it has freed, and multiplies once more.
#include <cusparse.h>

#include <vector>

template <typename T>
T* on_device(const std::vector<T>& host) {
  T* copy;
  cudaMalloc(&copy, host.size() * sizeof(T));
  cudaMemcpy(copy, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  return copy;
}

int main() {
  const int n = 16 << 20;
  std::vector<int> row_of(n + 1), column_of(n);
  for (int i = 0; i <= n; i++) row_of[i] = i;
  for (int i = 0; i < n; i++) column_of[i] = i;
  int *rows = on_device(row_of), *columns = on_device(column_of);
  float *values = on_device(std::vector<float>(n, 1)), *x, *y, one = 1, zero = 0;
  cudaMalloc(&x, n * sizeof(float));  // ALLOC
  cudaMalloc(&y, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cusparseHandle_t sparse;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t in, out;
  cusparseCreate(&sparse);
  cusparseCreateCsr(&matrix, n, n, n, rows, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                    CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
  cusparseCreateDnVec(&in, n, x, CUDA_R_32F);
  cusparseCreateDnVec(&out, n, y, CUDA_R_32F);
  size_t size = 0;
  void* workspace;
  cusparseSpMV_bufferSize(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, CUDA_R_32F,
                          CUSPARSE_SPMV_ALG_DEFAULT, &size);
  cudaMalloc(&workspace, size + 1);
  cudaFree(x);                                                                                      // FREED
  cusparseSpMV(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, CUDA_R_32F,  // LAUNCH
               CUSPARSE_SPMV_ALG_DEFAULT, workspace);                                               // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
