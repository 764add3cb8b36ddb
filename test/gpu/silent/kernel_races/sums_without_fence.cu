// The last block adds up the partial sums of all blocks, but no fence orders a block's sum before its ticket.
// Report: https://github.com/kokkos/kokkos/issues/2681
#include "../bounded.cuh"

template <bool corrected>
__global__ void total(const float* values, float* partials, unsigned* tickets, float* sum) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    float mine = 0;
    for (int i = 0; i < 64; ++i) mine += values[blockIdx.x * 64 + i];
    partials[blockIdx.x] = mine;  // FIRST
    if (corrected) __threadfence();
    last = atomicAdd(tickets, 1) == gridDim.x - 1;
    if (corrected) __threadfence();
  }
  __syncthreads();
  if (last && threadIdx.x < gridDim.x) {
    atomicAdd(sum, partials[threadIdx.x]);  // SECOND
  }
}

int main(int argc, char**) {
  const int blocks = 32;
  float *values = numbered<float>(64 * blocks), *partials = on_device<float>(blocks), *sum = on_device<float>(1);
  unsigned* tickets = on_device<unsigned>(1);
  if (argc > 1) {
    total<true><<<blocks, 64>>>(values, partials, tickets, sum);
  } else {
    total<false><<<blocks, 64>>>(values, partials, tickets, sum);  // LAUNCH
  }
  return finished();
}
