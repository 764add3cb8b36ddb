// Bulk copies bring chunks into shared memory; the grid has twice as many blocks as there are chunks.
#include <cstdint>

__global__ void first_of_chunks(const float* x, int chunk, float* out) {
  extern __shared__ __align__(128) float buffer[];
  __shared__ __align__(8) uint64_t barrier;
  const unsigned at = __cvta_generic_to_shared(&barrier), to = __cvta_generic_to_shared(buffer);
  const unsigned bytes = chunk * sizeof(float);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(x + size_t(blockIdx.x) * chunk), "r"(bytes), "r"(at)
                 : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  for (int i = 0; i < 1000 && !done; i++)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(at)
                 : "memory");
  if (done && threadIdx.x == 0) out[blockIdx.x] = buffer[0];
}

int main() {
  const int chunk = 8 << 10, chunks = 32 << 10, blocks = 2 * chunks;
  float *x, *out;
  cudaMalloc(&out, blocks * sizeof(float));
  cudaMalloc(&x, size_t(chunks) * chunk * sizeof(float));  // ALLOC
  cudaMemset(x, 0, size_t(chunks) * chunk * sizeof(float));
  first_of_chunks<<<chunks, 128, chunk * sizeof(float)>>>(x, chunk, out);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  first_of_chunks<<<blocks, 128, chunk * sizeof(float)>>>(x, chunk, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
