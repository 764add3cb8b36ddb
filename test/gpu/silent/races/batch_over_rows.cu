// A batch copy writes pages of a cache on its own stream while the model's kernel still reads the last of these pages.
// Related: https://github.com/LMCache/LMCache/pull/2671, https://github.com/kvcache-ai/Mooncake/pull/1890
#include "../bounded.cuh"

__global__ void read_pages(const float* pages, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = 2 * pages[i];
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int page = 2048, pages = 8, in_use = 5;
  float *cache = on_device<float>(pages * page), *stored = on_device<float>(pages * page);
  float* out = on_device<float>(in_use * page);
  cudaStream_t model = new_stream(), transfer = new_stream();
  void *to[3], *from[3];
  size_t sizes[3], first = 0;
  for (int k = 0; k < 3; ++k) {
    const int which = pages - 1 - k - (k == 2 && !corrected ? 1 : 0);
    to[k] = cache + which * page, from[k] = stored + which * page, sizes[k] = page * sizeof(float);
  }
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  read_pages<<<in_use * page / 256, 256, 0, model>>>(cache, out, in_use * page);  // FIRST
  cudaMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, transfer);     // SECOND
  return finished();
}
