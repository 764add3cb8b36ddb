// The threads of a block hand values to each other through global memory, without the barrier between.
// Related: https://github.com/CHIP-SPV/chipStar/pull/1334 (such a hand-over needs a barrier that orders global memory)
#include "../bounded.cuh"

template <bool corrected>
__global__ void reverse(const int* in, int* scratch, int* out) {
  int* mine = scratch + blockIdx.x * blockDim.x;
  mine[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x] + 1;  // FIRST
  if (corrected) __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = mine[blockDim.x - 1 - threadIdx.x];  // SECOND
}

int main(int argc, char**) {
  const int threads = 128, blocks = 10, count = threads * blocks;
  int *in = numbered<int>(count), *scratch = on_device<int>(count), *out = on_device<int>(count);
  if (argc > 1) {
    reverse<true><<<blocks, threads>>>(in, scratch, out);
  } else {
    reverse<false><<<blocks, threads>>>(in, scratch, out);  // LAUNCH
  }
  return finished();
}
