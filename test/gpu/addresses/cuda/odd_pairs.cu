// Pairs of halves are stored starting at an odd column.
#include <cuda_fp16.h>

__global__ void store_pairs(__half* out, int offset) {
  __half2* pairs = reinterpret_cast<__half2*>(out + offset);
  pairs[threadIdx.x] = __floats2half2_rn(threadIdx.x, -1);  // ACCESS
}

int main() {
  __half* out;
  cudaMalloc(&out, 64 << 10);  // ALLOC
  store_pairs<<<1, 64>>>(out, 0);
  store_pairs<<<1, 64>>>(out, 4093);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
