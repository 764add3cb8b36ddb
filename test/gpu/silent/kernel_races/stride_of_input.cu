// Each block copies the rows of one head into a cache. It steps by the input's number of rows, but copies the new row,
// too, and so writes into the next head.
// Related: https://github.com/tenstorrent/tt-metal/pull/54743
#include "../bounded.cuh"

static const int width = 64, old_rows = 15;

__global__ void store(const float* in, float* cache, int stride) {
  float* head = cache + blockIdx.x * stride * width;
  for (int row = 0; row <= old_rows; ++row) {
    head[row * width + threadIdx.x] = in[threadIdx.x] + row;  // FIRST
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int heads = 12;
  float *in = numbered<float>(width), *cache = on_device<float>(heads * (old_rows + 1) * width);
  store<<<heads, width>>>(in, cache, corrected ? old_rows + 1 : old_rows);  // LAUNCH
  return finished();
}
