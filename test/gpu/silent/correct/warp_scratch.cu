// The lanes of each warp hand values to each other through global memory of their own, ordered by __syncwarp.
// Pattern: https://github.com/ORNL/HeCBench/pull/221
#include "../bounded.cuh"

__global__ void sort_pairs(const int* in, int* scratch, int* out) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  int* mine = scratch + thread - lane;
  mine[lane] = in[thread];
  __syncwarp();
  const int other = mine[lane ^ 1];
  __syncwarp();
  mine[lane] = lane % 2 == 0 ? min(in[thread], other) : max(in[thread], other);
  __syncwarp();
  out[thread] = mine[31 - lane];
}

int main() {
  const int count = 256 * 20;
  int *in = numbered<int>(count), *scratch = on_device<int>(count), *out = on_device<int>(count);
  sort_pairs<<<20, 256>>>(in, scratch, out);
  return finished();
}
