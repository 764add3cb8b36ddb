// Tokens are stored in the slots of a cache. All padding tokens have slot 0, so their blocks write different values
// there.
// Related: https://github.com/sgl-project/sglang/pull/32477
#include "../bounded.cuh"

__global__ void store(const float* keys, const int* slots, float* cache, int width, int reserved) {
  const int slot = slots[blockIdx.x];
  if (slot == reserved) return;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    cache[slot * width + i] = keys[blockIdx.x * width + i];  // FIRST
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int tokens = 8, width = 256, table[tokens] = {4, 9, 2, 7, 1, 0, 0, 0};
  float *keys = numbered<float>(tokens * width), *cache = on_device<float>(10 * width);
  int* slots = on_device<int>(tokens);
  cudaMemcpy(slots, table, sizeof table, cudaMemcpyHostToDevice);
  store<<<tokens, 128>>>(keys, slots, cache, width, corrected ? 0 : -1);  // LAUNCH
  return finished();
}
