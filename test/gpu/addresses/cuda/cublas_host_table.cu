// A batched product expects its tables of matrices in device memory; one of them is in host memory.
#include <cublas_v2.h>

#include "needs.cuh"

int main() {
  needs_no_pageable_access();
  const int n = 64, batch = 8;
  float *matrices[batch], **table, one = 1, zero = 0;
  for (float*& matrix : matrices) cudaMalloc(&matrix, n * n * sizeof(float));
  cudaMalloc(&table, sizeof matrices);
  cudaMemcpy(table, matrices, sizeof matrices, cudaMemcpyHostToDevice);
  cublasHandle_t handle;
  cublasCreate(&handle);
  cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, matrices, n, table, n, &zero, table, n,  // LAUNCH
                     batch);
  return cudaDeviceSynchronize() != cudaSuccess;
}
