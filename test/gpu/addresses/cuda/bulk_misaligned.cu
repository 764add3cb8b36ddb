// A bulk copy of rows whose length is not a multiple of 16 bytes.
#include "bulk_copy.cuh"

__global__ void row_sums(const float* rows, int width, float* out) {
  __shared__ alignas(128) float tile[1024];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full;
  if (threadIdx.x == 0) init(&full, blockDim.x);
  __syncthreads();
  load_tile(tile, rows + blockIdx.x * width, 1024 * sizeof(float), full);  // ACCESS
  atomicAdd(&out[blockIdx.x], tile[threadIdx.x]);
}

int main() {
  float *rows, *out;
  cudaMalloc(&rows, 1 << 20);  // ALLOC
  cudaMalloc(&out, 4096);
  row_sums<<<4, 256>>>(rows, 1024, out);
  row_sums<<<4, 256>>>(rows, 1026, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
