// Thread 0 announces the block's tile when it has stored its own part; the other warps may not have stored theirs. The
// block that comes last reads all tiles.
// Report: https://github.com/ROCm/triton/pull/745
#include "../bounded.cuh"

template <bool corrected>
__global__ void accumulate(const float* in, float* tiles, unsigned* finished_blocks, float* out) {
  __shared__ unsigned before;
  tiles[blockIdx.x * blockDim.x + threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x] * 0.5f;  // FIRST
  __threadfence();
  if (corrected) __syncthreads();
  if (threadIdx.x == 0) before = atomicAdd(finished_blocks, 1);
  __syncthreads();
  if (before != gridDim.x - 1) return;
  __threadfence();
  float sum = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) {
    sum += tiles[block * blockDim.x + threadIdx.x];  // SECOND
  }
  out[threadIdx.x] = sum;
}

int main(int argc, char**) {
  const int blocks = 16, threads = 256, count = blocks * threads;
  float *in = numbered<float>(count), *tiles = on_device<float>(count), *out = on_device<float>(threads);
  unsigned* finished_blocks = on_device<unsigned>(1);
  if (argc > 1) {
    accumulate<true><<<blocks, threads>>>(in, tiles, finished_blocks, out);
  } else {
    accumulate<false><<<blocks, threads>>>(in, tiles, finished_blocks, out);  // LAUNCH
  }
  return finished();
}
