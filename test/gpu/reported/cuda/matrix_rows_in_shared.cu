// Rows of a tile have 36 halves, so every second row starts at an address that ldmatrix does not allow.
#include <cuda_fp16.h>

template <int PITCH>
__global__ void load_tile(const __half* in, unsigned* out) {
  __shared__ __align__(16) __half tile[32 * PITCH];
  for (int i = threadIdx.x; i < 32 * PITCH; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  unsigned a, b, c, d, row = __cvta_generic_to_shared(tile + threadIdx.x * PITCH);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"  // ACCESS
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)                                // ACCESS
               : "r"(row));                                                        // ACCESS
  out[threadIdx.x] = a ^ b ^ c ^ d;
}

int main() {
  __half* in;
  unsigned* out;
  cudaMalloc(&in, 32 * 64 * sizeof(__half));
  cudaMalloc(&out, 32 * sizeof(unsigned));
  cudaMemset(in, 0, 32 * 64 * sizeof(__half));
  load_tile<40><<<1, 32>>>(in, out);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  load_tile<36><<<1, 32>>>(in, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
