// A batched factorization returns the pivots of each matrix; the array for them was made for a smaller batch.
#include <cublas_v2.h>

const int ORDER = 16;

__global__ void fill(float* matrices, int different, float** table, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float* matrix = matrices + size_t(i % different) * ORDER * ORDER;
    if (i < different)
      for (int k = 0; k < ORDER * ORDER; k++) matrix[k] = k % (ORDER + 1) == 0 ? 2 : 1;
    table[i] = matrix;
  }
}

int main() {
  const int batch = 32 << 20, usual = 1 << 20, different = 4096;
  float *matrices, **table;
  int *pivots, *infos;
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 77;
  cudaMalloc(&matrices, different * ORDER * ORDER * sizeof(float));
  cudaMalloc(&table, batch * sizeof(float*));
  cudaMalloc(&infos, batch * sizeof(int));
  cudaMalloc(&pivots, size_t(usual) * ORDER * sizeof(int));  // ALLOC
  fill<<<1024, 256>>>(matrices, different, table, batch);
  if (cublasSgetrfBatched(handle, ORDER, table, ORDER, pivots, infos, usual) != CUBLAS_STATUS_SUCCESS) return 77;
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  cublasSgetrfBatched(handle, ORDER, table, ORDER, pivots, infos, batch);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
