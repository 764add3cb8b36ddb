// A bulk copy from memory that was freed.
#include "bulk_copy.cuh"

__global__ void first_tile(const float* tiles, float* out) {
  __shared__ alignas(128) float tile[1024];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full;
  if (threadIdx.x == 0) init(&full, blockDim.x);
  __syncthreads();
  load_tile(tile, tiles, sizeof tile, full);  // ACCESS
  out[threadIdx.x] = tile[threadIdx.x];
}

int main() {
  float *tiles, *out;
  cudaMalloc(&tiles, 128 << 20);  // ALLOC
  cudaMalloc(&out, 4096);
  first_tile<<<1, 256>>>(tiles, out);
  cudaFree(tiles);                     // FREED
  first_tile<<<1, 256>>>(tiles, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
