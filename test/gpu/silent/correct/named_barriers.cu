// Half of a block's warps produce tiles in global memory, the other half consumes them. Two named barriers of the block
// order them; there is no __syncthreads.
// No public report.
#include "../bounded.cuh"

__device__ void arrive(int barrier) { asm volatile("bar.arrive %0, 128;" ::"r"(barrier) : "memory"); }

__device__ void wait(int barrier) { asm volatile("bar.sync %0, 128;" ::"r"(barrier) : "memory"); }

__global__ void pipeline(const float* in, float* tiles, float* out, int rounds) {
  float* tile = tiles + blockIdx.x * 64;
  const int lane = threadIdx.x % 64;
  for (int round = 0; round < rounds; ++round) {
    const int at = (blockIdx.x * rounds + round) * 64;
    if (threadIdx.x < 64) {
      if (round > 0) wait(2);
      tile[lane] = in[at + lane] + 1;
      __threadfence_block();
      arrive(1);
    } else {
      wait(1);
      out[at + lane] = tile[63 - lane];
      if (round + 1 < rounds) arrive(2);
    }
  }
}

int main() {
  const int blocks = 6, rounds = 8, count = blocks * rounds * 64;
  float *in = numbered<float>(count), *tiles = on_device<float>(blocks * 64), *out = on_device<float>(count);
  pipeline<<<blocks, 128>>>(in, tiles, out, rounds);
  return finished();
}
