// The block that takes the last ticket reads the partial sums of all blocks; fences order sums and tickets.
// Pattern: https://github.com/kokkos/kokkos/issues/2681
#include "../bounded.cuh"

__global__ void total(const float* values, float* partials, unsigned* tickets, float* sum) {
  __shared__ bool last;
  float mine = values[blockIdx.x * blockDim.x + threadIdx.x];
  for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_down_sync(0xffffffff, mine, lanes);
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = mine;
    __threadfence();
    last = atomicAdd(tickets, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  float all = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) all += partials[block];
  *sum = all;
  *tickets = 0;
}

int main() {
  float *values = numbered<float>(64 * 32), *partials = on_device<float>(64), *sum = on_device<float>(1);
  unsigned* tickets = on_device<unsigned>(1);
  for (int step = 0; step < 3; ++step) total<<<64, 32>>>(values, partials, tickets, sum);
  return finished();
}
