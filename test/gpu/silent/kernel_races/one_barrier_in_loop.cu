// A loop writes a tile, waits, and reads it in another order. The next round overwrites the tile without a second
// barrier, while other warps still read.
// Related: https://github.com/ggml-org/llama.cpp/pull/20507 (the same with a tile in shared memory)
#include "../bounded.cuh"

template <bool corrected>
__global__ void permute(const float* in, float* tiles, float* out, int rounds) {
  float* tile = tiles + blockIdx.x * blockDim.x;
  for (int round = 0; round < rounds; ++round) {
    const int at = (blockIdx.x * rounds + round) * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = in[at] * 2;  // SECOND
    __syncthreads();
    out[at] = tile[(threadIdx.x + 64) % blockDim.x];  // FIRST
    if (corrected) __syncthreads();
  }
}

int main(int argc, char**) {
  const int threads = 256, blocks = 4, rounds = 5, count = threads * blocks * rounds;
  float *in = numbered<float>(count), *tiles = on_device<float>(threads * blocks), *out = on_device<float>(count);
  if (argc > 1) {
    permute<true><<<blocks, threads>>>(in, tiles, out, rounds);
  } else {
    permute<false><<<blocks, threads>>>(in, tiles, out, rounds);  // LAUNCH
  }
  return finished();
}
